import type { KubernetesObject } from '../../api/kubernetes.js';
import { checkConsolidation } from '../checker/consolidation.js';
import type { CatalogueEntry } from '../checker/types.js';
import { consolidateFleet } from '../../disruption/consolidation/search.js';
import type { Consolidation, ConsolidationInput } from '../../disruption/consolidation/types.js';
import type { PackingSettings } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import type { Check } from './conformance-case.js';
import { flat, usual } from './world.js';

/** The time of every case; what runs is a day old. */
const now = Date.parse('2026-01-02T00:00:00Z');

export interface Fleet {
  readonly objects: readonly (KubernetesObject | readonly KubernetesObject[])[];
  readonly catalogue?: readonly CatalogueEntry[];
  readonly settings?: Partial<PackingSettings>;
  readonly more?: Partial<ConsolidationInput>;
}

/** What has to come out; what is not said is not looked at, but no rule may be broken. */
export interface Outcome {
  /** Names of the nodes that go, sorted. */
  readonly gone?: readonly string[];
  /** How many of the nodes go, where they are equal. */
  readonly count?: number;
  /** Types of what is launched, sorted. */
  readonly launched?: readonly string[];
  readonly capacityTypes?: readonly string[];
  /** The types that the first replacement lists. */
  readonly listed?: readonly string[];
  /** Whether it costs less afterwards. */
  readonly cheaper?: boolean;
  /** Dollars per hour, to the tenth of a cent. */
  readonly saved?: number;
  /** How many go of each name before its last dash. */
  readonly byGroup?: Readonly<Record<string, number>>;
}

const goneOf = ({ commands }: Consolidation): string[] => commands.flatMap(({ candidates }) => candidates).sort();
const replacements = ({ commands }: Consolidation) => commands.flatMap((each) => each.replacements);

const views: { readonly [Key in keyof Outcome]-?: (result: Consolidation) => unknown } = {
  gone: goneOf,
  count: (result) => goneOf(result).length,
  launched: (result) =>
    replacements(result)
      .map(({ cheapest }) => cheapest.instanceType)
      .sort(),
  capacityTypes: (result) =>
    replacements(result)
      .map(({ cheapest }) => cheapest.capacityType)
      .sort(),
  listed: (result) => replacements(result)[0]?.instanceTypes,
  cheaper: ({ priceBefore, priceAfter }) => priceAfter < priceBefore - 1e-9,
  saved: ({ priceBefore, priceAfter }) => Math.round((priceBefore - priceAfter) * 1000) / 1000,
  byGroup: (result) => {
    const counts: Record<string, number> = {};
    for (const name of goneOf(result)) {
      const group = name.slice(0, name.lastIndexOf('-'));
      counts[group] = (counts[group] ?? 0) + 1;
    }
    return counts;
  },
};

/** What consolidation does with these objects, judged by the checker too. */
export function consolidates(
  { objects, catalogue = usual, settings = {}, more = {} }: Fleet,
  expected: Outcome,
): Check {
  const items = flat(objects);
  const outcome = (): unknown => {
    const input = packingInputOf({ objects: items, catalogue });
    const result = consolidateFleet({ ...input, now, settings: { ...input.settings, ...settings }, ...more });
    const judged = checkConsolidation({ items }, catalogue, { engine: 'stowage', totalMs: 0, ...result }, now);
    const keys = Object.keys(expected) as (keyof Outcome)[];
    return {
      // The checker knows the rule without its gate.
      violations: judged.violations.filter(
        ({ message }) => more.spotToSpot !== true || !message.endsWith('nodes by spot'),
      ),
      ...Object.fromEntries(keys.map((key) => [key, views[key](result)])),
    };
  };
  return { outcome, expected: { violations: [], ...expected } };
}
