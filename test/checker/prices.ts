import { hostnameKey, instanceTypeKey, type MachineType, poolKey } from './catalogue.js';
import type { Cluster, Pool } from './cluster.js';
import { overlaidTypes, refusedOverlays } from './overlays.js';
import { nodeCostOf } from './policies.js';
import { leaveNothing, normalKey } from './selectors.js';
import type { ClaimJson } from './types.js';

type Types = ReadonlyMap<string, MachineType>;

/** What instance types cost in each NodePool: NodeOverlays applied, and the user's own cost of a node added. */
export class Prices {
  private readonly known = new Map<string, Types>();
  private readonly refused: ReturnType<typeof refusedOverlays>;

  constructor(
    private readonly cluster: Cluster,
    private readonly types: Types,
  ) {
    const none = cluster.overlays.length === 0;
    this.refused = none ? new Set() : refusedOverlays(cluster, [...types.values()], fixedOf);
  }

  typesOf(pool: Pool): Types {
    const { cluster, types, refused, known } = this;
    if (cluster.overlays.length === 0 && cluster.policies.length === 0) return types;
    const { name = '' } = pool.metadata;
    let own = known.get(name);
    if (own === undefined) {
      const cost = nodeCostOf(cluster, pool);
      const changed = overlaidTypes(cluster, pool, [...types.values()], fixedOf(pool), refused);
      own = new Map(changed.map((type) => [type.name, cost > 0 ? dearer(type, cost) : type]));
      known.set(name, own);
    }
    return own;
  }

  /** What a node of these labels costs, dollars per hour: as much as a new one like it; 0 where that is unknown. */
  of(labels: Readonly<Record<string, string>>): number {
    const pool = this.cluster.pools.get(labels[poolKey] ?? '');
    const types = pool === undefined ? this.types : this.typesOf(pool);
    const offers = (types.get(labels[instanceTypeKey] ?? '')?.offers ?? []).filter((offer) =>
      [...offer.labels].every(([key, values]) => values.includes(labels[key] ?? '')),
    );
    return offers.length === 0 ? 0 : Math.min(...offers.map((offer) => offer.price));
  }
}

const fixedOf = (pool: Pool): Map<string, readonly string[]> => fixedLabels(pool, undefined, 'a new node');

const dearer = (type: MachineType, cost: number): MachineType => ({
  ...type,
  offers: type.offers.map((offer) => ({ ...offer, price: offer.price + cost })),
});

/** The labels that a node of the pool has with any type: those of the template and of the claim. */
export function fixedLabels(pool: Pool, claim: ClaimJson | undefined, name: string): Map<string, readonly string[]> {
  const labels = new Map<string, readonly string[]>();
  const template = pool.spec.template;
  const asked = template.spec.requirements ?? [];
  for (const { key, operator, values = [] } of [...asked, ...(claim?.requirements ?? [])]) {
    if (operator === 'In' && values.length === 1 && !leaveNothing(asked, normalKey(key)))
      labels.set(normalKey(key), values);
  }
  for (const [key, value] of Object.entries({ ...claim?.labels, ...template.metadata?.labels })) {
    labels.set(normalKey(key), [value]);
  }
  const { group, kind, name: nodeClass } = { group: '', kind: '', name: '', ...template.spec.nodeClassRef };
  labels.set(`${group}/${kind.toLowerCase()}`, [nodeClass]);
  labels.set(poolKey, [pool.metadata.name ?? '']);
  labels.set(hostnameKey, [name]);
  for (const key of ['karpenter.sh/registered', 'karpenter.sh/initialized']) labels.set(key, ['true']);
  return labels;
}
