import type { NamespacedName } from '../../core/refs.js';

/* Messages of `explainPod`. workflows/messages.ts exports them. */

export interface ExplainPodInput extends NamespacedName {
  readonly cluster: string;
}
