import type { ActivityDeps } from '../activities/deps.js';
import type { Starter } from './starter.js';
import type { Finding } from './stuck/findings.js';
import type { WorkflowReconciler } from './workflow-reconciler.js';

/** Dependencies of all parts of the operator. */
export interface OperatorContext extends Pick<
  ActivityDeps,
  'cluster' | 'kube' | 'cache' | 'cloud' | 'packing' | 'events' | 'log' | 'metrics' | 'gates' | 'now' | 'nominationMs'
> {
  readonly starter: Starter;
  /** Starts the workflows that have to run for the objects in Kubernetes. */
  readonly workflows: Pick<WorkflowReconciler, 'claimChanged' | 'poolChanged'>;
  /** The batch window in milliseconds (provisioning/batch-window). */
  readonly window: { readonly idleMs: number; readonly maxMs: number };
  /** Runs work whose requests to the API server precede other waiting requests. */
  readonly urgently?: <T>(work: () => T) => T;
  /** Reports what prevents planning of nodes, if anything, and its changes. */
  readonly stuck?: {
    readonly planning: Finding | undefined;
    readonly onPlanning: (then: () => void) => () => void;
  };
}
