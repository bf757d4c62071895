import { conditionOf } from '../../core/conditions.js';
import { hashText } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { DisruptionContext } from './disruption-context.js';
import { rulesByPool } from './disruption-context.js';
import { backOffEnds } from './node-memory.js';

/** By NodePool; a pool whose types could not be had is missing. */
type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

/**
 * What a search for consolidation answers to: equal fingerprints, equal answers. `seen` is how many changes of the cluster were known
 * before the context was read; `consolidatable` how many nodes are, now and soon.
 */
export function searchFingerprint(
  context: DisruptionContext,
  { seen, consolidatable, catalogues }: { seen: number; consolidatable: readonly number[]; catalogues: Catalogues },
): string {
  const { pauses, disrupting, nominated, questions, refused } = context;
  return JSON.stringify([
    seen,
    consolidatable,
    pauses.map(({ scope, until }) => [scope, until]),
    disrupting,
    questions.map(({ workflowId, isApproved }) => [workflowId, isApproved]),
    refused.map(({ at, until }) => [at, until]),
    [...nominated].sort(),
    [...backOffEnds(context, rulesByPool(context))].sort(),
    digestsOf(catalogues),
  ]);
}

/** What decides which nodes can be launched: NodePools, and their instance types with overlays and offerings that are out of capacity. */
export function launchesFingerprint({ pools }: Pick<DisruptionContext, 'pools'>, catalogues: Catalogues): string {
  const decisive = [
    [...pools].map(([name, { spec, status }]) => [name, spec, conditionOf(status?.conditions, 'Ready')?.status]),
    digestsOf(catalogues),
  ];
  return hashText(JSON.stringify(decisive));
}

const digestsOf = (catalogues: Catalogues): readonly (readonly [string, string])[] =>
  [...catalogues].map(([nodePool, types]) => [nodePool, digestOf(types)]);

/** NodePools that nothing can be planned for just now, as their instance types could not be had. */
export function withoutCatalogue({ pools }: DisruptionContext, catalogues: Catalogues): readonly string[] {
  return [...pools.keys()].filter((name) => !catalogues.has(name));
}

/** Changes with the offerings and their prices. Computed once for each catalogue. */
function digestOf(types: readonly InstanceType[]): string {
  let digest = digests.get(types);
  if (digest === undefined) digests.set(types, (digest = sumsOf(types)));
  return digest;
}

const digests = new WeakMap<readonly InstanceType[], string>();

function sumsOf(types: readonly InstanceType[]): string {
  let available = 0;
  let price = 0;
  let at = 0;
  for (const { offerings } of types) {
    for (const offering of offerings) {
      at += 1;
      price += offering.price;
      // Where one becomes available as another ceases to be, the number alone says nothing.
      if (offering.available) available += at;
    }
  }
  return `${types.length} ${available} ${price}`;
}
