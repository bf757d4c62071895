import type { Cloud } from './cloud.js';
import { paged } from './ec2-answers.js';
import { filtersOf, param, strings, type Params } from './query.js';
import { passes } from './filters.js';
import { element, type XmlElement } from './xml.js';

const product = 'Linux/UNIX';

/**
 * DescribeSpotPriceHistory, newest first: the price changes within the time asked for, and the price that held at
 * its start.
 */
export async function spotPriceHistory(cloud: Cloud, params: Params): Promise<XmlElement> {
  const types = new Set(strings(params, 'InstanceType'));
  const products = strings(params, 'ProductDescription');
  const filters = filtersOf(params);
  const zone = param(params, 'AvailabilityZone');
  const start = Date.parse(param(params, 'StartTime') ?? '') || 0;
  const end = Date.parse(param(params, 'EndTime') ?? '') || Number.POSITIVE_INFINITY;
  const rows: { since: number; item: XmlElement }[] = [];
  const wanted =
    products.length === 0 || products.some((each) => each === product || each === `${product} (Amazon VPC)`);
  for (const pool of wanted ? await cloud.catalogue.pools() : []) {
    if ((types.size > 0 && !types.has(pool.machine.name)) || (zone !== undefined && zone !== pool.zone)) continue;
    const values: Record<string, string> = {
      'availability-zone': pool.zone,
      'instance-type': pool.machine.name,
      'product-description': product,
    };
    if (!passes(filters, (name) => (values[name] === undefined ? undefined : [values[name]]))) continue;
    const history = cloud.market.history(pool.machine, pool.zone);
    const holding = history.find(({ since }) => since <= start);
    for (const entry of history) {
      if (entry.since > end || (entry.since <= start && entry !== holding)) continue;
      rows.push({ since: entry.since, item: row(pool.machine.name, pool.zone, entry) });
    }
  }
  rows.sort((left, right) => right.since - left.since);
  const items = rows.map(({ item }) => item);
  return paged('DescribeSpotPriceHistory', 'spotPriceHistorySet', items, params, {
    minimum: 1,
    maximum: 1000,
    standard: 1000,
  });
}

const row = (type: string, zone: string, { price, since }: { price: number; since: number }): XmlElement =>
  element('item', [
    element('instanceType', type),
    element('productDescription', product),
    element('spotPrice', price.toFixed(6)),
    element('timestamp', new Date(since).toISOString()),
    element('availabilityZone', zone),
  ]);
