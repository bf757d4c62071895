import { defineQuery } from '@temporalio/workflow';
import type { ClaimRef } from '../../core/refs.js';
import type { Decision, DisruptionCommand, DisruptionReason } from '../../disruption/command.js';

/* Messages of `consolidate` and `measureSavings`. workflows/messages.ts exports them. */

export interface ConsolidateInput extends DisruptionCommand {
  readonly cluster: string;
  /** Set when the run continues as new: the command waits for its turn, and has its approval if one is required. */
  readonly waits?: true;
}

export interface ConsolidateResult {
  readonly outcome: 'done' | 'abandoned' | 'rejected' | 'aborted' | 'withdrawn' | 'failed';
  readonly reason?: string;
  readonly terminated: readonly string[];
  /** Names of the NodeClaims that replace them. */
  readonly replacements?: readonly string[];
  /** With `done`: nodes that pods were moved to, existing and launched ones. */
  readonly targets?: Decision['targets'];
  /** With `withdrawn`: whether another command for the same nodes replaces it. */
  readonly isSuperseded?: true;
  readonly savedPerHour: number;
}

/** The data of a finished command that `measureSavings` needs. */
export interface FinishedCommand {
  /** Workflow id of the disruption. */
  readonly id: string;
  readonly reason: DisruptionReason;
  readonly nodePools: readonly string[];
  readonly nodes: readonly string[];
  /** NodeClaims that were launched as replacements. */
  readonly replacements: readonly ClaimRef[];
  /** Price of the disrupted nodes and predicted price of their replacements, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  readonly podsMoved: number;
  /** Milliseconds of the epoch. */
  readonly finishedAt: number;
}

export interface MeasureSavingsInput {
  readonly cluster: string;
  readonly command: FinishedCommand;
  /** When to measure, milliseconds after the command; default one hour and one day. */
  readonly afterMs?: readonly number[];
}

/** The measured saving of a command some time after it. */
export interface SavingsMeasured {
  /** ISO 8601. */
  readonly at: string;
  readonly afterMs: number;
  /** The predicted saving, and the one by the replacements that really run, dollars per hour. */
  readonly predicted: number;
  readonly realised: number;
  /** How many replacements still run, and how many are gone. */
  readonly running: number;
  readonly gone: number;
  /**
   * Nodes launched in the same NodePools since the command, other than its replacements: they may have used up the
   * saving.
   */
  readonly launchedSince: number;
  readonly launchedSincePerHour: number;
}

export interface MeasureSavingsResult {
  readonly measured: readonly SavingsMeasured[];
}

export const savingsQuery = defineQuery<readonly SavingsMeasured[]>('savings');
