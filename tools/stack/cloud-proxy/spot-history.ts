import type { MachineType } from './catalogue.js';
import type { Cloud } from './cloud.js';
import { paged } from './ec2-answers.js';
import { filtersOf, param, strings, type Params } from './query.js';
import { passes } from './filters.js';
import type { SpotPrice } from './spot-market.js';
import { element, type XmlElement } from './xml.js';

const product = 'Linux/UNIX';

/**
 * DescribeSpotPriceHistory, newest first: the price changes within the time asked for, and the price that held at
 * its start.
 */
export async function spotPriceHistory(cloud: Cloud, params: Params): Promise<XmlElement> {
  const wanted = poolFilter(params);
  const start = timeAt(params, 'StartTime', 0);
  const end = timeAt(params, 'EndTime', Number.POSITIVE_INFINITY);
  const found: { since: number; item: XmlElement }[] = [];
  for (const { machine, zone } of (await cloud.catalogue.pools()).filter(wanted)) {
    const history = cloud.market.history(machine, zone);
    const holding = history.find(({ since }) => since <= start);
    for (const entry of history) {
      if (entry.since > end || (entry.since <= start && entry !== holding)) continue;
      found.push({ since: entry.since, item: row(machine.name, zone, entry) });
    }
  }
  found.sort((left, right) => right.since - left.since);
  const items = found.map(({ item }) => item);
  const bounds = { minimum: 1, maximum: 1000, standard: 1000 };
  return paged('DescribeSpotPriceHistory', 'spotPriceHistorySet', items, params, bounds);
}

function timeAt(params: Params, name: string, fallback: number): number {
  const time = Date.parse(param(params, name) ?? '');
  return Number.isNaN(time) ? fallback : time;
}

/** Which pools the request asks for: by types, products, zone and filters. */
function poolFilter(params: Params): (pool: { machine: MachineType; zone: string }) => boolean {
  const types = new Set(strings(params, 'InstanceType'));
  const products = strings(params, 'ProductDescription');
  const linux =
    products.length === 0 || products.some((each) => each === product || each === `${product} (Amazon VPC)`);
  const asked = param(params, 'AvailabilityZone');
  const filters = filtersOf(params);
  return ({ machine, zone }) => {
    if (!linux || (types.size > 0 && !types.has(machine.name)) || (asked !== undefined && asked !== zone)) return false;
    const values: Record<string, string> = {
      'availability-zone': zone,
      'instance-type': machine.name,
      'product-description': product,
    };
    return passes(filters, (name) => (values[name] === undefined ? undefined : [values[name]]));
  };
}

/** Each page of a list is cut from all of its rows: they are made once. */
const rows = new WeakMap<SpotPrice, XmlElement>();

function row(type: string, zone: string, entry: SpotPrice): XmlElement {
  const known = rows.get(entry);
  if (known !== undefined) return known;
  const item = element('item', [
    element('instanceType', type),
    element('productDescription', product),
    element('spotPrice', entry.price.toFixed(6)),
    element('timestamp', new Date(entry.since).toISOString()),
    element('availabilityZone', zone),
  ]);
  rows.set(entry, item);
  return item;
}
