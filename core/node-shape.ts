import { parseResources } from './resources.js';
import { lookUp } from './own.js';

/** A node that has less than this share of what its instance type promised is not what was bought (registration/consistency). */
const leastShare = 0.9;

/** A resource of which a node has less than it should. Amounts are in the units of core/resources.ts. */
export interface Shortfall {
  readonly resource: string;
  readonly expected: number;
  readonly found: number;
}

/**
 * What of the requested resources a node's capacity falls short of (registration/consistency). Resources that
 * nobody asked for and those that the type was not known to have are left out.
 */
export function shortfalls(
  requested: Readonly<Record<string, string>> | undefined,
  expected: Readonly<Record<string, string>> | undefined,
  found: Readonly<Record<string, string>> | undefined,
): readonly Shortfall[] {
  const promised = parseResources(expected);
  const there = parseResources(found);
  return Object.entries(parseResources(requested))
    .filter(([, amount]) => amount > 0)
    .map(([resource]) => ({ resource, expected: lookUp(promised, resource) ?? 0, found: lookUp(there, resource) ?? 0 }))
    .filter((each) => each.expected > 0 && each.found < each.expected * leastShare);
}
