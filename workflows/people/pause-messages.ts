import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { PauseScope } from '../../core/pause-scope.js';
import type { Order } from './oversight-messages.js';

/*
 * Orders to pause and resume disruption, which `disrupt` writes as DisruptionPauses. workflows/messages.ts exports
 * them.
 */

export type { PauseScope };

export interface Pause {
  readonly scope: PauseScope;
  readonly reason: string;
  readonly actor: string;
  /** Milliseconds of the epoch; absent: until resumed. */
  readonly until?: number;
}

/** A pause as people order it: with its end as a time or as a duration. */
export interface PauseOrder extends Pause {
  /** A Go duration such as `2h`; ignored if `until` is given. */
  readonly ttl?: string;
}

export interface ResumeOrder extends Order {
  readonly scope: PauseScope;
}

export const pauseSignal = defineSignal<[PauseOrder]>('pause');
export const resumeSignal = defineSignal<[ResumeOrder]>('resume');
export const pauseUpdate = defineUpdate<readonly Pause[], [PauseOrder]>('pause');
export const resumeUpdate = defineUpdate<readonly Pause[], [ResumeOrder]>('resume');
