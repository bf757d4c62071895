import { defineSignal } from '@temporalio/workflow';
import type { InterruptionNotice } from '../../core/interruption-kinds.js';

/* Messages of `handleInterruption`. workflows/messages.ts exports them. */

export type { InterruptionNotice };

export interface HandleInterruptionInput {
  readonly cluster: string;
  readonly instanceId: string;
  /** Notices that an earlier workflow for the instance had received when it was terminated. */
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
