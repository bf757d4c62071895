import type { Step } from './records.js';

/** The data of the node for texts. */
export interface About {
  readonly claimName: string;
  readonly pods: readonly string[];
}

/** Describes a step as text; undefined if it has no new information. Keeps state per workflow. */
export type Describer = (step: Step) => string | undefined;
