import type { ActivityDeps } from '../activities/deps.js';
import type { BatchWindow } from '../workflows/messages.js';
import type { Starter } from './starter.js';

/** What every part of the operator works with. */
export interface OperatorContext extends Pick<
  ActivityDeps,
  'cluster' | 'kube' | 'cache' | 'cloud' | 'events' | 'log' | 'metrics' | 'gates' | 'now' | 'nominationMs'
> {
  readonly starter: Starter;
  readonly window: BatchWindow;
}
