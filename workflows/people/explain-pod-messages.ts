/* Messages of `explainPod`. workflows/messages.ts exports them. */

export interface ExplainPodInput {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}
