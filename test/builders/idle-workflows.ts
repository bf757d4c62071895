import type { OperatorContext } from '../../operator/context.js';

/** For tests of a watch that has nothing to do with which workflows run. */
export const idleWorkflows: OperatorContext['workflows'] = {
  claimChanged: () => Promise.resolve(undefined),
  poolChanged: () => Promise.resolve(undefined),
};
