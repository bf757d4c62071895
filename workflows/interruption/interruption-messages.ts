import { defineSignal } from '@temporalio/workflow';
import type { InterruptionNotice } from '../../core/interruption-kinds.js';

/* Messages of `handleInterruption`. workflows/messages.ts exports them. */

export type { InterruptionNotice };

export interface HandleInterruptionInput {
  readonly cluster: string;
  readonly instanceId: string;
  /** Notices on the NodeClaim, whose workflow was terminated or lost. The cloud has to confirm them. */
  readonly notices?: readonly InterruptionNotice[];
}

export interface HandleInterruptionResult {
  /**
   * `handed-over`: another workflow was already terminating the node. It was sent the deadline or the end of the
   * instance, if the notice has one.
   */
  readonly outcome: 'unknown-instance' | 'noted' | 'drained' | 'handed-over';
  readonly kinds: readonly string[];
  readonly replacements: readonly string[];
  /**
   * Seconds from the end of the drain to the end of the instance, where the cloud announced that; negative if the drain
   * took too long.
   */
  readonly secondsToSpare?: number;
}

export const interruptionSignal = defineSignal<[InterruptionNotice]>('interruption');
