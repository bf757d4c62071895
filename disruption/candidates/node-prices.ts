import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';
import { coverageOf, type Coverage } from '../../packing/compile/coverage.js';
import { overlaidCatalogues } from '../../packing/compile/stores.js';
import { excluding } from '../../packing/exclude-objects.js';
import type { PackingInput, ExcludedObject } from '../../packing/types.js';

type Catalogues = PackingInput['catalogues'];
/** Objects that change the cloud's prices. */
type Pricing = Pick<PackingInput['objects'], 'nodePools' | 'nodeOverlays' | 'disruptionPolicies'>;

interface WithExcluded {
  /** Objects that are excluded (scheduling/objects-left-out). */
  readonly setAside: readonly ExcludedObject[];
}

/** Prices of the cluster's nodes. An excluded object affects no other node's price. */
export function pricesIn(
  input: Pick<PackingInput, 'objects' | 'catalogues' | 'settings' | 'now'>,
): WithExcluded & { readonly prices: NodePrices } {
  const { result, setAside } = excluding(
    input,
    (each) => new NodePrices(each.catalogues, each.objects, coverageOf(each).nodes),
  );
  return { prices: result, setAside };
}

/** Catalogues as packing uses them, without the changes of excluded objects. */
export function overlaidIn(
  input: Pick<PackingInput, 'objects' | 'catalogues'>,
): WithExcluded & { readonly catalogues: Catalogues } {
  const { result, setAside } = excluding(input, ({ objects, catalogues }) =>
    overlaidCatalogues(objects.nodePools, catalogues, objects.nodeOverlays, {
      policies: objects.disruptionPolicies,
    }),
  );
  return { catalogues: result, setAside };
}

/**
 * Prices of nodes, by the labels that identify their offering (disruption-cost/price-of-a-node). Equal to the price that packing
 * uses for such a node if it launches one, so that the two can be compared. All code that needs the price of a node uses this.
 */
export class NodePrices {
  private readonly types = new Map<readonly InstanceType[], Map<string, InstanceType>>();
  private readonly known = new Map<string, number | undefined>();

  private readonly overlaid: Catalogues;

  /** `catalogues` are the cloud's, by NodePool; `covered` are nodes that commitments cover, by name. */
  constructor(
    private readonly catalogues: Catalogues,
    { nodePools, nodeOverlays, disruptionPolicies }: Pricing,
    private readonly covered: Coverage['nodes'] = new Map(),
  ) {
    this.overlaid = overlaidCatalogues(nodePools, catalogues, nodeOverlays, { policies: disruptionPolicies });
  }

  /**
   * Dollars per hour of the cheapest matching offering, less what commitments cover of this node (instance-types/commitments);
   * undefined if the NodePool's catalogue has no match.
   */
  of(nodeLabels: Readonly<Record<string, string>>, node: string): number | undefined {
    const price = this.listed(nodeLabels);
    return price === undefined ? undefined : Math.max(0, price - (this.covered.get(node)?.saving ?? 0));
  }

  private listed(nodeLabels: Readonly<Record<string, string>>): number | undefined {
    const pool = nodeLabels[labels.nodePool] ?? '';
    const type = nodeLabels[labels.instanceType] ?? '';
    const key = [pool, type, nodeLabels[labels.zone], nodeLabels[labels.capacityType]].join('\0');
    if (!this.known.has(key)) this.known.set(key, this.find(pool, type, nodeLabels));
    return this.known.get(key);
  }

  private find(pool: string, name: string, nodeLabels: Readonly<Record<string, string>>): number | undefined {
    const own = this.overlaid.get(pool);
    // If the NodePool is gone, another NodePool's catalogue may have the type; it is priced without overlays.
    const type = own === undefined ? this.anywhere(name) : this.byName(own).get(name);
    let least: number | undefined;
    for (const { price, requirements } of type?.offerings ?? []) {
      const matches = requirements.every(({ key, operator, values }) => {
        if (operator !== 'In' || (key !== labels.zone && key !== labels.capacityType)) return true;
        return values?.includes(nodeLabels[key] ?? '') === true;
      });
      if (matches && (least === undefined || price < least)) least = price;
    }
    return least;
  }

  private anywhere(name: string): InstanceType | undefined {
    for (const catalogue of this.catalogues.values()) {
      const type = this.byName(catalogue).get(name);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  private byName(catalogue: readonly InstanceType[]): Map<string, InstanceType> {
    let byName = this.types.get(catalogue);
    if (byName === undefined) {
      byName = new Map(catalogue.map((type) => [type.name, type]));
      this.types.set(catalogue, byName);
    }
    return byName;
  }
}
