import { labels } from '../../api/labels.js';
import type { InstanceType } from '../../core/instance-type.js';

/** What nodes cost, by the labels that name their offering (disruption-cost/price-of-a-node). */
export class NodePrices {
  private readonly types = new Map<readonly InstanceType[], Map<string, InstanceType>>();
  private readonly known = new Map<string, number | undefined>();

  constructor(private readonly catalogues: ReadonlyMap<string, readonly InstanceType[]>) {}

  /** Dollars per hour of the cheapest offering that matches; undefined when the catalogue of the pool has none. */
  of(nodeLabels: Readonly<Record<string, string>>): number | undefined {
    const pool = nodeLabels[labels.nodePool] ?? '';
    const type = nodeLabels[labels.instanceType] ?? '';
    const key = [pool, type, nodeLabels[labels.zone], nodeLabels[labels.capacityType]].join('\0');
    if (!this.known.has(key)) this.known.set(key, this.find(pool, type, nodeLabels));
    return this.known.get(key);
  }

  private find(pool: string, name: string, nodeLabels: Readonly<Record<string, string>>): number | undefined {
    const own = this.catalogues.get(pool);
    // A node whose pool is gone may still be of a type that another pool buys.
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
