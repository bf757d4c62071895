import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import type { InstanceType } from '../../core/instance-type.js';
import { canonicalText } from '../requirements/requirements.js';
import type { Daemon } from './daemons.js';
import type { Dimensions } from './dimensions.js';
import type { KeySpace } from './key-space.js';
import { LaunchableTypes } from './launchables.js';
import { Offers, type OfferOptions } from './offers.js';
import { withCovered } from './commitments.js';
import type { Coverage } from './coverage.js';
import type { PackingInput } from '../types.js';
import { nodeCosts, rulingPolicy, withNodeCost } from './node-costs.js';
import { overlaying } from './overlays.js';
import type { Pool } from './pools.js';
import { buildUniverse, type Universe } from './universe.js';
import { nameOf } from '../../core/names.js';

/**
 * Caches of values computed from a catalogue, stored with the catalogue. Most passes, and nearly all simulations of
 * disruption, read the same labels and hit the cache. It affects only speed: catalogues are immutable, and all other
 * inputs are part of the key.
 */
type Cache<T> = WeakMap<object, Map<string, T>>;

/** Number of values cached for an owner; the oldest is dropped first. */
const mostKept = 4;

/** The value for this text, made once for the owner. */
export function remembered<T>(cache: Cache<T>, owner: object, text: string, make: () => T): T {
  let values = cache.get(owner);
  if (values === undefined) cache.set(owner, (values = new Map<string, T>()));
  const known = values.get(text);
  if (known !== undefined) return known;
  const made = make();
  for (const oldest of values.keys()) {
    if (values.size < mostKept) break;
    values.delete(oldest);
  }
  values.set(text, made);
  return made;
}

type Types = readonly InstanceType[];
type Catalogues = ReadonlyMap<string, Types>;

const numbers = new WeakMap<Types, number>();
let nextNumber = 0;

/** Identifies a catalogue in the text of a cache. */
function numberOf(types: Types): number {
  let number = numbers.get(types);
  if (number === undefined) numbers.set(types, (number = nextNumber++));
  return number;
}

const covered: Cache<Types> = new WeakMap();

/**
 * The types of a NodePool with covered offerings listed at their covered price. Returns the same array for the same
 * commitments. A NodePool with a spot ratio is unchanged, since the ratio instead of prices determines how much runs on
 * demand; so is one with minValues, since a commitment may not cover that many types.
 */
export function coveredTypes(
  pool: NodePool,
  types: Types,
  { open }: Pick<Coverage, 'open'>,
  { settings, objects: { disruptionPolicies } }: Pick<PackingInput, 'settings' | 'objects'>,
): Types {
  if (
    open.length === 0 ||
    rulingPolicy(pool, disruptionPolicies)?.spec.spotRatio !== undefined ||
    pool.spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined)
  )
    return types;
  const names = open.map(({ name }) => name);
  const text = JSON.stringify(settings.commitments?.filter(({ name }) => names.includes(name)));
  return remembered(covered, types, text, () => withCovered(types, open));
}

interface PricingOptions {
  readonly policies?: readonly DisruptionPolicy[] | undefined;
  /** In addition to that of policies. */
  readonly nodeCost?: number | undefined;
  readonly isUsed?: (pool: NodePool) => boolean;
}

const everyPool = (): boolean => true;
const noTypes: Types = [];
const overlaid: Cache<(nodePool: string) => Types> = new WeakMap();
const atCost: Cache<Types> = new WeakMap();

/**
 * Catalogues with NodeOverlays and the node costs of policies applied. Returns the same arrays for the same overlays
 * and costs, so that their stores are found. `isUsed`: catalogues of unused NodePools are unchanged.
 */
export function overlaidCatalogues(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[] = [],
  { policies, nodeCost = 0, isUsed = everyPool }: PricingOptions = {},
): Catalogues {
  const [first] = catalogues.values();
  const used = nodePools.filter(isUsed);
  const costs = nodeCosts(used, policies, nodeCost);
  if ((overlays.length === 0 && costs.size === 0) || first === undefined) return catalogues;
  const given = (nodePool: string): Types => catalogues.get(nodePool) ?? noTypes;
  const text = (): string =>
    JSON.stringify([
      overlays.map(({ metadata, spec }) => [metadata.name, spec]),
      nodePools.map(({ metadata, spec }) => [metadata.name, spec.template, numberOf(given(metadata.name ?? ''))]),
    ]);
  const typesOf =
    overlays.length === 0
      ? given
      : remembered(overlaid, first, text(), () => overlaying(nodePools, catalogues, overlays).typesOf);
  const priced = new Map(catalogues);
  for (const pool of used) {
    const name = nameOf(pool);
    const types = typesOf(name);
    const cost = costs.get(name);
    const dearer = (dollars: number): Types =>
      remembered(atCost, types, String(dollars), () => withNodeCost(types, dollars));
    priced.set(name, cost === undefined ? types : dearer(cost));
  }
  return priced;
}

/** Values computed from the catalogues of the NodePools for the label keys of a pass. */
interface CatalogueStore {
  readonly pools: readonly Pool[];
  readonly universe: Universe;
}

const stores: Cache<CatalogueStore> = new WeakMap();

/**
 * The store of these NodePools; use its NodePool objects from then on. `labels`: the result of `KeySpace.seal`;
 * `unused`: NodePools that no pod of the pass tolerates.
 */
export function storeOf(
  pools: readonly Pool[],
  space: KeySpace,
  labels: string,
  { wellKnown, unused }: { readonly wellKnown: ReadonlySet<string>; readonly unused: ReadonlySet<Pool> },
): CatalogueStore {
  const names = [...unused].map(({ name }) => name).join();
  const text = [labels, [...wellKnown].sort().join(), ...pools.map(poolText), names].join('\u0003');
  const store = remembered(stores, pools[0]?.types ?? pools, text, () => ({
    pools,
    universe: buildUniverse(pools, space, wellKnown, unused),
  }));
  // The NodePools may be newer versions with an equal spec.
  store.pools.forEach((pool, i) => (pool.object = pools[i]!.object));
  return store;
}

const poolText = ({ object, requirements, types }: Pool): string =>
  `${numberOf(types)}${JSON.stringify([object.metadata.name, object.metadata.labels, object.spec])}${canonicalText(requirements)}`;

/** Capacities for pods of everything in a store. */
interface CatalogueSupply {
  readonly offers: Offers;
  readonly launchables: LaunchableTypes;
}

const supplies: Cache<CatalogueSupply> = new WeakMap();

/** The capacities of a store minus the overhead of DaemonSets; `limited`: NodePools whose limits may be reached. */
export function catalogueSupplyOf(
  { universe }: CatalogueStore,
  daemons: readonly Daemon[],
  dimensions: Dimensions,
  options: OfferOptions,
): CatalogueSupply {
  const text = [
    dimensions.names.join(),
    options.relaxedFor?.map((demand) => demand.join()).join(';') ?? '',
    [...options.limited].sort().join(),
    ...daemons.map(daemonText),
  ].join('\u0003');
  return remembered(supplies, universe, text, () => {
    const offers = new Offers(universe, daemons, dimensions, options);
    return { offers, launchables: new LaunchableTypes(universe, offers) };
  });
}

const daemonText = ({ spec, amounts, hostPorts, alternatives }: Daemon): string =>
  JSON.stringify([
    [...amounts],
    hostPorts,
    spec.tolerations ?? [],
    alternatives.map(({ requirements }) => canonicalText(requirements)),
  ]);
