import type { Consolidation, ConsolidationCommand } from '../../disruption/consolidation/types.js';
import { claimDocument } from './plan-json.js';

/** A consolidation in the format of `stowage consolidate -o json`. */
export interface ConsolidationDocument {
  readonly engine: 'stowage';
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Of the nodes whose price is in the catalogue, dollars per hour. */
  readonly priceBefore: number;
  readonly priceAfter: number;
  /** Time to evaluate the parsed objects and to find every command, milliseconds. */
  readonly totalMs: number;
  readonly commands: readonly object[];
  /** Why nodes cannot be disrupted. */
  readonly held: Consolidation['held'];
  /** Objects that could not be read and were left out. */
  readonly setAside: NonNullable<Consolidation['setAside']>;
}

export function consolidationDocument(result: Consolidation, totalMs: number): ConsolidationDocument {
  return {
    engine: 'stowage',
    nodesBefore: result.nodesBefore,
    nodesAfter: result.nodesAfter,
    priceBefore: dollars(result.priceBefore),
    priceAfter: dollars(result.priceAfter),
    totalMs: Math.round(totalMs * 1000) / 1000,
    commands: result.commands.map(commandDocument),
    held: result.held,
    setAside: result.setAside ?? [],
  };
}

function commandDocument(command: ConsolidationCommand): object {
  return {
    ...command,
    replacements: command.replacements.map(claimDocument),
    priceBefore: dollars(command.priceBefore),
    priceAfter: dollars(command.priceAfter),
  };
}

/** Rounds sums of prices, whose last digits are inexact. */
function dollars(amount: number): number {
  return Math.round(amount * 1e9) / 1e9;
}
