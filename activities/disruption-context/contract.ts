import type { NodeMemory, RunningDisruption } from '../../workflows/messages.js';

/** State of `disrupt` that decisions need besides the cluster. */
export interface DisruptionView {
  /** Commands that `disrupt` has started: their NodeClaims and NodePools may not show them yet. */
  readonly commands: readonly RunningDisruption[];
  /** The memory of nodes after commands. */
  readonly memory?: readonly NodeMemory[];
  /** Hash of the `details` that `disrupt` has, so that equal ones are not returned. */
  readonly knownDetails?: string;
}
