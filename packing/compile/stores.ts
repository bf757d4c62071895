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
import { nameOf } from '../names.js';
import type { PackingInput } from '../types.js';
import { nodeCosts, rulingPolicy, withNodeCost } from './node-costs.js';
import { applyOverlays } from './overlays.js';
import type { Pool } from './pools.js';
import { buildUniverse, type Universe } from './universe.js';

/*
 * What a catalogue comes to is the same for passes that read the same labels of it, so it is kept with the catalogue: most
 * passes, and nearly all simulations of disruption, find it made. Nothing but time depends on that: catalogues are never
 * changed in place, and everything else that has a say is part of the key.
 */

/** The catalogues of the NodePools, seen through the label keys of a pass. */
export interface CatalogueStore {
  readonly pools: readonly Pool[];
  readonly universe: Universe;
  /** Capacities by what DaemonSets take of them. */
  readonly shelves: Map<string, CatalogueShelf>;
}

/** What is left for pods of what the store has. */
export interface CatalogueShelf {
  readonly offers: Offers;
  readonly launchables: Launchables;
}

/** Stores kept for one catalogue, and shelves for one store; the one that was made first goes first. */
const mostKept = 4;

const kept = new WeakMap<readonly InstanceType[], Map<string, CatalogueStore>>();

/** By the first catalogue: the commitments that were open, and what the catalogues are under them. */
const keptCovered = new WeakMap<readonly InstanceType[], KeptOverlays>();

/**
 * Catalogues with what open commitments cover once more at what that costs. The same arrays for the same commitments. Pools are left as
 * they are where a spot ratio, and not prices, says how much runs on demand, and where claims must list more types than a commitment
 * may cover (minValues).
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

const keptOverlays = new WeakMap<readonly InstanceType[], KeptOverlays>();

/**
 * Catalogues as users change them: NodeOverlays applied, then what policies say that a node costs besides. The same arrays for the same
 * overlays and costs, so that stores are found for them.
 */
export function overlaidCatalogues(
  nodePools: readonly NodePool[],
  catalogues: Catalogues,
  overlays: readonly NodeOverlay[] = [],
  policies?: readonly DisruptionPolicy[],
): Catalogues {
  const [first] = catalogues.values();
  const costs = nodeCosts(nodePools, policies);
  if ((overlays.length === 0 && costs.size === 0) || first === undefined) return catalogues;
  const text = JSON.stringify([
    overlays.map(({ metadata, spec }) => [metadata.name, spec]),
    nodePools.map(({ metadata, spec }) => [metadata.name, spec.template]),
    [...costs],
  ]);
  const known = keptOverlays.get(first);
  const isSame = known?.text === text && nodePools.every(({ metadata: { name = '' } }) => known.catalogues.get(name) === catalogues.get(name)); // prettier-ignore
  if (isSame) return known.overlaid;
  const overlaid = new Map(applyOverlays(nodePools, catalogues, overlays).catalogues);
  for (const [pool, cost] of costs) overlaid.set(pool, withNodeCost(overlaid.get(pool) ?? [], cost));
  keptOverlays.set(first, { text, catalogues, overlaid });
  return overlaid;
}

/**
 * The store of these pools; its own pools stand for them from here on. `labels` is what `KeySpace.seal` gave, `unused` are the pools
 * that no pod of the pass tolerates.
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
    // The objects may be newer ones of equal spec.
    known.pools.forEach((pool, i) => (pool.object = pools[i]!.object));
    return known;
  }
  const store: CatalogueStore = { pools, universe: buildUniverse(pools, space, wellKnown, unused), shelves: new Map() };
  if (stores !== undefined) keep(stores, text, store);
  return store;
}

/** What DaemonSets leave of the store; `limited` are the pools whose limits may bind. */
export function shelfOf(
  { universe, shelves }: CatalogueStore,
  daemons: readonly Daemon[],
  dimensions: Dimensions,
  options: OfferOptions,
): CatalogueShelf {
  const text = [
    dimensions.names.join(),
    options.relaxedFor?.map((demand) => demand.join()).join(';') ?? '',
    [...options.limited].sort().join(),
    ...daemons.map(daemonText),
  ].join('\u0003');
  let shelf = shelves.get(text);
  if (shelf === undefined) {
    const offers = new Offers(universe, daemons, dimensions, options);
    shelf = { offers, launchables: new Launchables(universe, offers) };
    keep(shelves, text, shelf);
  }
  return shelf;
}

function keep<T>(into: Map<string, T>, text: string, value: T): void {
  into.delete(text);
  for (const oldest of into.keys()) {
    if (into.size < mostKept) break;
    into.delete(oldest);
  }
  into.set(text, value);
}

const poolText = ({ object, requirements }: Pool): string =>
  `${JSON.stringify([object.metadata.name, object.metadata.labels, object.spec])}${canonicalText(requirements)}`;

const daemonText = ({ spec, amounts, hostPorts, onceReady }: Daemon): string =>
  JSON.stringify([
    [...amounts],
    hostPorts,
    spec.tolerations ?? [],
    onceReady.map(({ requirements }) => canonicalText(requirements)),
  ]);
