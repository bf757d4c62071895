import { timestamp } from '../../core/conditions.js';
import { compareText } from '../../core/text.js';
import { fullName, nameOf } from '../../core/names.js';
import { pricesIn } from '../../disruption/candidates/node-prices.js';
import type { PlannedClaim } from '../../packing/types.js';
import { driftOfBoth } from './node-drift.js';
import { type DisruptedReason, disruptedKey, type Outlook, outlookOf } from './outlook.js';
import { forecastSummary } from './summary.js';
import type { Forecast, ForecastSnapshot } from './types.js';

/** What was read and changed: the part of a forecast that is known before anything is computed. */
export type Applied = Pick<Forecast, 'objects' | 'refused' | 'skipped' | 'notes'>;

/**
 * What a change of a cluster leads to, beside what happens without it. Pure: the functions that decide live are asked
 * about both, so that objects which change nothing leave no difference.
 */
export async function forecast(before: ForecastSnapshot, after: ForecastSnapshot, applied: Applied): Promise<Forecast> {
  const drift = await driftOfBoth(before, after);
  const without = outlookOf(before, drift.before);
  const isSame = applied.objects.length === 0;
  const then = isSame ? without : outlookOf(after, drift.after);
  const found = {
    version: 1 as const,
    ...applied,
    pricePerHour: {
      now: rounded(priceOf(before)),
      without: rounded(without.pricePerHour),
      with: rounded(then.pricePerHour),
    },
    pools: poolsOf(without, then),
    launches: launchesOf(without, then),
    drifted: newlyIn(then, without),
    noLongerDrifted: newlyIn(without, then),
    disruptions: disruptionsOf(without, then),
    turns: isSame ? [] : [...then.turns],
    turnsWithout: isSame ? [] : [...without.turns],
    stays: isSame
      ? []
      : then.stays.filter(({ node, why }) => !without.stays.some((one) => one.node === node && one.why === why)),
    ...podsOf(without, then, after),
  };
  const outcome = applied.refused.length > 0 ? 'refused' : isSame ? 'unchanged' : 'changed';
  return { ...found, outcome, summary: forecastSummary(found) };
}

const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6;

function priceOf({ input }: ForecastSnapshot): number {
  const { prices } = pricesIn(input);
  return (input.objects.nodes ?? []).reduce(
    (sum, node) => sum + (prices.of(node.metadata.labels ?? {}, nameOf(node)) ?? 0),
    0,
  );
}

function poolsOf(without: Outlook, then: Outlook): Forecast['pools'] {
  const none = { nodes: 0, pricePerHour: 0 };
  return sortedUnion(without.pools, then.pools).map((pool) => {
    const [a, b] = [without.pools.get(pool) ?? none, then.pools.get(pool) ?? none];
    return {
      ...{ pool, nodesWithout: a.nodes, nodesWith: b.nodes },
      pricePerHourWithout: rounded(a.pricePerHour),
      pricePerHourWith: rounded(b.pricePerHour),
    };
  });
}

const sortedUnion = <T>(a: ReadonlyMap<string, T>, b: ReadonlyMap<string, T>): string[] =>
  [...new Set([...a.keys(), ...b.keys()])].sort(compareText);

/** The launches of one plan that the other lacks, by what is launched. */
function launchesOf(without: Outlook, then: Outlook): Forecast['launches'] {
  const countOf = (claims: readonly PlannedClaim[]): Map<string, PlannedClaim[]> => {
    const groups = new Map<string, PlannedClaim[]>();
    for (const claim of claims) {
      const { instanceType, zone, capacityType } = claim.cheapest;
      const key = JSON.stringify([claim.nodePool, instanceType, zone, capacityType]);
      groups.set(key, [...(groups.get(key) ?? []), claim]);
    }
    return groups;
  };
  const [a, b] = [countOf(without.plan.newNodeClaims), countOf(then.plan.newNodeClaims)];
  return sortedUnion(a, b).flatMap((key) => {
    const claims = (b.get(key) ?? []).slice(a.get(key)?.length ?? 0);
    const [first] = claims;
    if (first === undefined) return [];
    const { instanceType, zone, capacityType } = first.cheapest;
    const price = claims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
    return [
      {
        ...{ pool: first.nodePool, instanceType, zone, capacityType },
        ...{ nodes: claims.length, pricePerHour: rounded(price) },
      },
    ];
  });
}

/** The nodes that have drifted in one outlook alone, by NodePool and reason. */
function newlyIn({ drifted }: Outlook, other: Outlook): Forecast['drifted'] {
  const there = new Set(other.drifted.map(({ node }) => node));
  const groups = new Map<string, { pool: string; reason: string; nodes: string[] }>();
  for (const { node, pool, reason } of drifted) {
    if (there.has(node)) continue;
    const key = JSON.stringify([pool, reason]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { pool, reason, nodes: [node] });
    else group.nodes.push(node);
  }
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, one]) => ({ ...one, nodes: one.nodes.sort(compareText) }));
}

const reasons: readonly DisruptedReason[] = ['Deleted', 'Drifted', 'Empty', 'Underutilized'];

function disruptionsOf(without: Outlook, then: Outlook): Forecast['disruptions'] {
  const pools = [
    ...new Set([...without.disrupted.keys(), ...then.disrupted.keys()].map((key) => key.slice(key.indexOf(' ') + 1))),
  ];
  return pools.sort(compareText).flatMap((pool) =>
    reasons.flatMap((reason) => {
      const key = disruptedKey(reason, pool);
      const [a, b] = [without.disrupted.get(key) ?? 0, then.disrupted.get(key) ?? 0];
      const [from, fromWithout] = [then, without].map(({ opens }) => opens.get(key));
      if (a === b && (from === fromWithout || b === 0)) return [];
      return [
        {
          ...{ pool, reason, without: a, with: b },
          ...(from !== undefined && b > 0 && { from: timestamp(from) }),
          ...(fromWithout !== undefined && a > 0 && { fromWithout: timestamp(fromWithout) }),
        },
      ];
    }),
  );
}

function podsOf(
  without: Outlook,
  then: Outlook,
  { input }: ForecastSnapshot,
): Pick<Forecast, 'withoutPlace' | 'placed'> {
  const nodeOf = new Map(input.objects.pods.map((pod) => [fullName(pod), pod.spec.nodeName ?? '']));
  return {
    withoutPlace: [...then.noPlace]
      .filter(([pod]) => !without.noPlace.has(pod))
      .map(([pod, why]) => ({ pod, node: nodeOf.get(pod) ?? '', why }))
      .sort((a, b) => compareText(a.pod, b.pod)),
    placed: [...without.noPlace.keys()].filter((pod) => nodeOf.has(pod) && !then.noPlace.has(pod)).sort(compareText),
  };
}
