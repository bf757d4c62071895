import type { NodePool } from '../../api/karpenter/node-pool.js';
import { parseResources } from '../../core/quantities.js';
import { allowance, type PoolCount } from '../../disruption/budgets/budgets.js';
import { countPools } from '../../disruption/budgets/pool-counts.js';
import { type Family, inBaseUnits, type Sample, type Scrape } from './scrape.js';
import { nameOf } from '../../core/names.js';

const reasons = ['Empty', 'Underutilized', 'Drifted'] as const;
type Reason = (typeof reasons)[number];

export const poolFamilies: readonly Family[] = [
  {
    name: 'nodepools_limit',
    help: 'Limits of each NodePool, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (scrape) => amounts(scrape, ({ spec }) => spec.limits),
  },
  {
    name: 'nodepools_usage',
    help: 'What the nodes of each NodePool add up to, in base units (CPU in cores).',
    labelNames: ['nodepool', 'resource_type'],
    samples: (scrape) => amounts(scrape, ({ status }) => status?.resources),
  },
  {
    name: 'nodepools_cost_total',
    help: 'What the nodes of each NodePool cost, dollars per hour; a node without a known price counts as nothing.',
    labelNames: ['nodepool'],
    samples: costs,
  },
  {
    name: 'nodepools_allowed_disruptions',
    help: 'How many nodes of each NodePool may be disrupted now for each reason.',
    labelNames: ['nodepool', 'reason'],
    samples: (scrape) =>
      perReason(
        scrape,
        ({ spec }, reason, count) => allowance(spec.disruption.budgets, reason, count, scrape.now).allowed,
      ),
  },
  {
    name: 'nodepools_nodes_consuming_budgets',
    help: 'How many nodes of each NodePool count against its budgets; every reason is charged with all of them.',
    labelNames: ['nodepool', 'reason'],
    samples: (scrape) => perReason(scrape, (_pool, _reason, { disrupting }) => disrupting),
  },
];

type PoolAmounts = Readonly<Record<string, string | number>> | undefined;

function amounts(scrape: Scrape, read: (pool: NodePool) => PoolAmounts): Sample[] {
  return scrape
    .pools()
    .flatMap((pool) =>
      Object.entries(parseResources(read(pool))).map(([resource, amount]): Sample => [
        { nodepool: nameOf(pool), resource_type: resource },
        inBaseUnits(resource, amount),
      ]),
    );
}

async function costs(scrape: Scrape): Promise<Sample[]> {
  const byPool = new Map(scrape.pools().map(({ metadata }) => [metadata.name ?? '', 0]));
  for (const { pool, pricePerHour } of await scrape.views()) {
    const name = pool?.metadata.name;
    if (name !== undefined) byPool.set(name, (byPool.get(name) ?? 0) + pricePerHour);
  }
  return [...byPool].map(([nodepool, cost]) => [{ nodepool }, cost]);
}

async function perReason(
  scrape: Scrape,
  value: (pool: NodePool, reason: Reason, count: PoolCount) => number,
): Promise<Sample[]> {
  const counts = countPools(await scrape.views(), new Set());
  return scrape.pools().flatMap((pool) => {
    const nodepool = nameOf(pool);
    const count = counts.get(nodepool) ?? { total: 0, disrupting: 0 };
    return reasons.map((reason): Sample => [{ nodepool, reason }, value(pool, reason, count)]);
  });
}
