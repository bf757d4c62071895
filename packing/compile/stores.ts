import type { NodeOverlay } from '../../api/karpenter/node-overlay.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import type { InstanceType } from '../../core/instance-type.js';
import { canonicalText } from '../requirements/requirements.js';
import type { Daemon } from './daemons.js';
import type { Dimensions } from './dimensions.js';
import type { KeySpace } from './key-space.js';
import { Launchables } from './launchables.js';
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

/** Values computed from the catalogues of the NodePools for the label keys of a pass. */
interface CatalogueStore {
  readonly pools: readonly Pool[];
  readonly universe: Universe;
  /** Capacities by the overhead of DaemonSets. */
  readonly supplies: Map<string, CatalogueSupply>;
}

/** Capacities for pods of everything in a store. */
interface CatalogueSupply {
  readonly offers: Offers;
  readonly launchables: Launchables;
}

/** Number of stores cached per catalogue, and of supplies per store; the oldest is dropped first. */
const mostKept = 4;

const kept = new WeakMap<readonly InstanceType[], Map<string, CatalogueStore>>();

/** By first catalogue: open commitments, and the catalogues with them applied. */
const keptCovered = new WeakMap<readonly InstanceType[], KeptOverlays>();

/**
 * Catalogues with covered offerings listed at their covered price. Returns the same arrays for the same commitments.
 * NodePools with a spot ratio are unchanged, since the ratio instead of prices determines how much runs on demand; so
 * are those with minValues, since a commitment may not cover that many types.
 */
export function coveredCatalogues(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  { open }: Pick<Coverage, 'open'>,
  { settings, objects: { disruptionPolicies } }: Pick<PackingInput, 'settings' | 'objects'>,
): Catalogues {
  const [first] = catalogues.values();
  if (open.length === 0 || first === undefined) return catalogues;
  const isFixed = (pool: NodePool): boolean =>
    rulingPolicy(pool, disruptionPolicies)?.spec.spotRatio !== undefined ||
    pool.spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined);
  const fixed = new Set(nodePools.filter(isFixed).map(nameOf));
  const names = open.map(({ name }) => name);
  const text = JSON.stringify([settings.commitments?.filter(({ name }) => names.includes(name)), [...fixed]]);
  const known = keptCovered.get(first);
  if (known?.text === text && [...catalogues].every(([pool, types]) => known.catalogues.get(pool) === types))
    return known.overlaid;
  const once = new Map<readonly InstanceType[], readonly InstanceType[]>();
  const overlaid = new Map(
    [...catalogues].map(([pool, types]) => {
      if (fixed.has(pool)) return [pool, types];
      if (!once.has(types)) once.set(types, withCovered(types, open));
      return [pool, once.get(types)!];
    }),
  );
  keptCovered.set(first, { text, catalogues, overlaid });
  return overlaid;
}

interface KeptOverlays {
  readonly text: string;
  readonly catalogues: Catalogues;
  readonly overlaid: Catalogues;
}

type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;

interface KeptOverlaying {
  readonly overlays: readonly NodeOverlay[];
  readonly nodePools: readonly NodePool[];
  readonly text: string;
  readonly catalogues: Catalogues;
  readonly typesOf: (nodePool: string) => readonly InstanceType[];
}

const keptOverlays = new WeakMap<readonly InstanceType[], KeptOverlaying>();

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
  const typesOf = overlays.length === 0 ? undefined : overlaidTypes(first, nodePools, catalogues, overlays);
  const overlaid = new Map(catalogues);
  for (const pool of used) {
    const name = nameOf(pool);
    const types = typesOf?.(name) ?? catalogues.get(name) ?? noTypes;
    const cost = costs.get(name);
    overlaid.set(name, cost === undefined ? types : atCost(types, cost));
  }
  return overlaid;
}

interface PricingOptions {
  readonly policies?: readonly DisruptionPolicy[] | undefined;
  /** In addition to that of policies. */
  readonly nodeCost?: number | undefined;
  readonly isUsed?: (pool: NodePool) => boolean;
}

const everyPool = (): boolean => true;
const noTypes: readonly InstanceType[] = [];

/** The catalogues with these overlays, which are applied again if an overlay or a template has changed. */
function overlaidTypes(
  first: readonly InstanceType[],
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[],
): (nodePool: string) => readonly InstanceType[] {
  const known = keptOverlays.get(first);
  const isOfSame = known !== undefined && nodePools.every((pool) => known.catalogues.get(nameOf(pool)) === catalogues.get(nameOf(pool))); // prettier-ignore
  if (isOfSame && isSame(known.overlays, overlays) && isSame(known.nodePools, nodePools)) return known.typesOf;
  const text = JSON.stringify([
    overlays.map(({ metadata, spec }) => [metadata.name, spec]),
    nodePools.map(({ metadata, spec }) => [metadata.name, spec.template]),
  ]);
  if (isOfSame && known.text === text) return known.typesOf;
  const { typesOf } = overlaying(nodePools, catalogues, overlays);
  keptOverlays.set(first, { overlays, nodePools, text, catalogues, typesOf });
  return typesOf;
}

const isSame = (a: readonly object[], b: readonly object[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i]);

const keptCosts = new WeakMap<readonly InstanceType[], Map<number, readonly InstanceType[]>>();

function atCost(types: readonly InstanceType[], cost: number): readonly InstanceType[] {
  let byCost = keptCosts.get(types);
  if (byCost === undefined) keptCosts.set(types, (byCost = new Map<number, readonly InstanceType[]>()));
  let dearer = byCost.get(cost);
  if (dearer === undefined) keep(byCost, cost, (dearer = withNodeCost(types, cost)));
  return dearer;
}

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
  const catalogue = pools[0]?.types;
  let stores = catalogue === undefined ? undefined : kept.get(catalogue);
  if (catalogue !== undefined && stores === undefined)
    kept.set(catalogue, (stores = new Map<string, CatalogueStore>()));
  const text = `${labels}\u0003${[...wellKnown].sort().join()}\u0003${pools.map(poolText).join('\u0003')}\u0003${[...unused].map(({ name }) => name).join()}`;
  const known = stores?.get(text);
  if (known?.pools.every(({ types }, i) => types === pools[i]!.types) === true) {
    // The NodePools may be newer versions with an equal spec.
    known.pools.forEach((pool, i) => (pool.object = pools[i]!.object));
    return known;
  }
  const store: CatalogueStore = {
    pools,
    universe: buildUniverse(pools, space, wellKnown, unused),
    supplies: new Map(),
  };
  if (stores !== undefined) keep(stores, text, store);
  return store;
}

/** The capacities of a store minus the overhead of DaemonSets; `limited`: NodePools whose limits may be reached. */
export function catalogueSupplyOf(
  { universe, supplies }: CatalogueStore,
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
  let supply = supplies.get(text);
  if (supply === undefined) {
    const offers = new Offers(universe, daemons, dimensions, options);
    supply = { offers, launchables: new Launchables(universe, offers) };
    keep(supplies, text, supply);
  }
  return supply;
}

function keep<K, T>(into: Map<K, T>, text: K, value: T): void {
  into.delete(text);
  for (const oldest of into.keys()) {
    if (into.size < mostKept) break;
    into.delete(oldest);
  }
  into.set(text, value);
}

const poolText = ({ object, requirements }: Pool): string =>
  `${JSON.stringify([object.metadata.name, object.metadata.labels, object.spec])}${canonicalText(requirements)}`;

const daemonText = ({ spec, amounts, hostPorts, alternatives }: Daemon): string =>
  JSON.stringify([
    [...amounts],
    hostPorts,
    spec.tolerations ?? [],
    alternatives.map(({ requirements }) => canonicalText(requirements)),
  ]);
