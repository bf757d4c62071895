import type { Step } from './records.js';

/** The node, as the words about it need it. */
export interface About {
  readonly claimName: string;
  readonly pods: readonly string[];
}

/** What a step means in plain words; undefined where it tells nothing new. It remembers what it told of its workflow. */
export type Describer = (step: Step) => string | undefined;
