import { labels } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import { digestOf } from '../../core/hash.js';
import { pinnedValue } from '../../core/launch-options.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { DisruptionContext } from './disruption-context.js';
import { allowedFor, rulesByPool } from './disruption-context.js';
import { backOffEnds } from './node-memory.js';

/** By NodePool; without NodePools whose instance types could not be read. */
type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

/**
 * A fingerprint of everything that the result of a consolidation search depends on: equal fingerprints mean equal
 * results. `seen`: how many changes of the cluster were known before the context was read; `consolidatable`: how many
 * nodes are consolidatable, now and soon.
 */
export function searchFingerprint(
  context: DisruptionContext,
  { seen, consolidatable, catalogues }: { seen: number; consolidatable: readonly number[]; catalogues: Catalogues },
): string {
  const { pauses, disrupting, nominated, questions, refused } = context;
  return digestOf([
    seen,
    consolidatable,
    pauses.map(({ scope, until }) => [scope, until]),
    disrupting,
    [...context.pools.keys()].map((name) =>
      (['Empty', 'Underutilized'] as const).map((reason) => allowedFor(context, name, reason).allowed),
    ),
    questions.map(({ workflowId, isApproved }) => [workflowId, isApproved]),
    refused.map(({ at, until }) => [at, until]),
    [...nominated].sort(),
    [...backOffEnds(context, rulesByPool(context))].sort(),
    digestsOf(catalogues),
  ]);
}

/**
 * A fingerprint of what determines which nodes can be launched: NodePools, and their instance types with overlays and
 * offerings that are out of capacity.
 */
export function launchesFingerprint({ pools }: Pick<DisruptionContext, 'pools'>, catalogues: Catalogues): string {
  const decisive = [
    [...pools].map(([name, { spec, status }]) => [name, spec, conditionOf(status?.conditions, 'Ready')?.status]),
    digestsOf(catalogues),
  ];
  return digestOf(decisive);
}

const digestsOf = (catalogues: Catalogues): readonly (readonly [string, string])[] =>
  [...catalogues].map(([nodePool, types]) => [nodePool, catalogueDigest(types)]);

/** NodePools for which nothing can be planned now, because their instance types could not be read. */
export function withoutCatalogue({ pools }: DisruptionContext, catalogues: Catalogues): readonly string[] {
  return [...pools.keys()].filter((name) => !catalogues.has(name));
}

/** A digest of the instance types that can be launched and of their prices. Computed once for each catalogue. */
function catalogueDigest(types: readonly InstanceType[]): string {
  let digest = digests.get(types);
  if (digest === undefined) digests.set(types, (digest = digestOf(types.map(purchasesOf))));
  return digest;
}

const digests = new WeakMap<readonly InstanceType[], string>();

const purchasesOf = ({ name, capacity, overhead, offerings }: InstanceType): readonly unknown[] => [
  name,
  capacity,
  overhead,
  offerings.map(({ requirements, price, available, reservationCapacity }) => [
    ...placeKeys.map((key) => pinnedValue(requirements, key)),
    price,
    available,
    reservationCapacity,
  ]),
];
const placeKeys = [labels.zone, labels.capacityType];
