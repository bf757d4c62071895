import { messageOf } from '../../core/error-message.js';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ActivityDeps } from '../../activities/deps.js';
import { metricName } from '../metrics.js';
import { buildInfo } from './build-info.js';
import { clusterFamilies, definitionConditions, objectConditions } from './cluster.js';
import { type Family, nodeColumns, Scrape } from './scrape.js';
import { nodeFamilies } from './nodes.js';
import { offeringFamilies } from './offerings.js';
import { podFamilies } from './pods.js';
import { poolFamilies } from './pools.js';

/**
 * Gauges of the cluster's state with Karpenter's names (metrics/of-the-cluster), computed from the cache at each
 * scrape.
 */
export function registerGauges(registry: Registry, deps: ActivityDeps, options: { readonly objects: boolean }): void {
  const scrape = sharedScrape(deps);
  const families = [
    ...poolFamilies,
    ...clusterFamilies(buildInfo(), deps.now()),
    ...offeringFamilies,
    ...definitionConditions(deps.cloud.nodeClassKind.kind),
    ...(options.objects ? [...nodeFamilies(nodeColumns(deps)), ...podFamilies, ...objectConditions] : []),
  ];
  for (const family of families) registry.registerMetric(new CollectedGauge(family, scrape));
}

/** A registry collects all its metrics in one turn of the event loop: they share one `Scrape`. */
function sharedScrape(deps: ActivityDeps): () => Scrape {
  let current: Scrape | undefined;
  return () => {
    if (current === undefined) {
      current = new Scrape(deps);
      setImmediate(() => (current = undefined));
    }
    return current;
  };
}

/**
 * A gauge whose series are computed at each scrape. If a family cannot be read it has none; others are not affected.
 */
class CollectedGauge extends Gauge {
  constructor(
    private readonly family: Family,
    private readonly scrape: () => Scrape,
  ) {
    const { name, help, labelNames } = family;
    super({ name: metricName(name), help, labelNames, registers: [] });
  }

  override async get(): ReturnType<Gauge['get']> {
    const scrape = this.scrape();
    const described = await super.get();
    try {
      const samples = await this.family.samples(scrape);
      return { ...described, values: [...samples].map(([own, value]) => ({ labels: { ...own }, value })) };
    } catch (error) {
      scrape.deps.log.warn({ metric: this.family.name, error: messageOf(error) }, 'a metric cannot be read');
      return { ...described, values: [] };
    }
  }
}
