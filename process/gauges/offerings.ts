import { labels } from '../../api/labels.js';
import { pinnedValue } from '../../core/launch-options.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Family, Sample, Scrape } from './scrape.js';

interface Seen {
  available: boolean;
  price: number | undefined;
}

const offeringLabels = ['instance_type', 'capacity_type', 'zone'];

/** The offerings of all NodePools. */
export const offeringFamilies: readonly Family[] = [
  {
    name: 'cloudprovider_instance_type_cpu_cores',
    help: 'CPU cores of each instance type.',
    labelNames: ['instance_type'],
    samples: (scrape) => perType(scrape, ({ capacity }) => (capacity['cpu'] ?? 0) / 1000),
  },
  {
    name: 'cloudprovider_instance_type_memory_bytes',
    help: 'Memory of each instance type.',
    labelNames: ['instance_type'],
    samples: (scrape) => perType(scrape, ({ capacity }) => capacity['memory'] ?? 0),
  },
  {
    name: 'cloudprovider_instance_type_offering_available',
    help: 'Whether an instance type can be launched in a zone under a capacity type (1) or not (0).',
    labelNames: offeringLabels,
    samples: (scrape) => perOffering(scrape, ({ available }) => (available ? 1 : 0)),
  },
  {
    name: 'cloudprovider_instance_type_offering_price_estimate',
    help: 'Price of an instance type in a zone under a capacity type, dollars per hour.',
    labelNames: offeringLabels,
    samples: (scrape) => perOffering(scrape, ({ price }) => price),
  },
];

async function typesOf(scrape: Scrape): Promise<readonly InstanceType[]> {
  return [...(await scrape.catalogues()).values()].flat();
}

async function perType(scrape: Scrape, read: (type: InstanceType) => number): Promise<Sample[]> {
  const byName = new Map((await typesOf(scrape)).map((type) => [type.name, read(type)]));
  return [...byName].map(([instance_type, value]) => [{ instance_type }, value]);
}

/**
 * Several reservations of one type and zone, and several pools, are combined into one series: the lowest price,
 * available if one is (metrics/offerings).
 */
async function perOffering(scrape: Scrape, read: (seen: Seen) => number | undefined): Promise<Sample[]> {
  const seen = new Map<string, Seen & { readonly own: Sample[0] }>();
  for (const { name, offerings } of await typesOf(scrape)) {
    for (const { requirements, available, price, unpriced } of offerings) {
      const own = {
        instance_type: name,
        capacity_type: pinnedValue(requirements, labels.capacityType) ?? '',
        zone: pinnedValue(requirements, labels.zone) ?? '',
      };
      const key = Object.values(own).join('/');
      const entry = seen.get(key) ?? { own, available: false, price: undefined };
      entry.available ||= available;
      if (unpriced !== true) entry.price = Math.min(entry.price ?? price, price);
      seen.set(key, entry);
    }
  }
  return [...seen.values()].flatMap((entry): Sample[] => {
    const value = read(entry);
    return value === undefined ? [] : [[entry.own, value]];
  });
}
