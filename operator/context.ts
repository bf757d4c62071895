import type { ActivityDeps } from '../activities/deps.js';
import type { Starter } from './starter.js';
import type { Finding } from './stuck/findings.js';
import type { WorkflowReconciler } from './workflow-reconciler.js';

/** What every part of the operator works with. */
export interface OperatorContext extends Pick<
  ActivityDeps,
  'cluster' | 'kube' | 'cache' | 'cloud' | 'packing' | 'events' | 'log' | 'metrics' | 'gates' | 'now' | 'nominationMs'
> {
  readonly starter: Starter;
  /** Starts the workflows that Kubernetes says have to run. */
  readonly workflows: Pick<WorkflowReconciler, 'claimChanged' | 'poolChanged'>;
  /** Milliseconds (provisioning/batch-window). */
  readonly window: { readonly idleMs: number; readonly maxMs: number };
  /** Does something so that its requests to the API server go before others that wait. */
  readonly urgently?: <T>(work: () => T) => T;
  /** Knows what keeps nodes from being planned, if anything does, and tells when that changes. */
  readonly stuck?: {
    readonly planning: Finding | undefined;
    readonly onPlanning: (then: () => void) => () => void;
  };
}
