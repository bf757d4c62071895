import { expect, test } from 'vitest';
import type { LaunchOption } from '../../core/launch-options.js';
import { fleetRequest, withinConfigs } from './fleet.js';
import type { FleetInput } from './fleet.js';

const zone = { key: 'topology.kubernetes.io/zone', operator: 'In', values: ['a'] };
const option = (name: string): LaunchOption =>
  ({ type: { name }, offering: { requirements: [zone], price: 1, available: true } }) as unknown as LaunchOption;

// Rule `launch/fleet-request`.
test('a request has the templates of the cheapest types, as many as EC2 takes', () => {
  const options = Array.from({ length: 60 }, (_, i) => option(`m5.${i}`));
  const templates = new Map(options.map(({ type }, i) => [type.name, { template: `lt-${i}`, imageId: 'ami-1' }]));
  templates.set('m5.59', { template: 'lt-0', imageId: 'ami-1' });
  const kept = withinConfigs(options, templates);
  expect(kept.map(({ type }) => type.name)).toEqual([...options.slice(0, 50).map(({ type }) => type.name), 'm5.59']);
  const input: FleetInput = {
    stage: { capacityType: 'on-demand', options: kept },
    templates,
    subnets: new Map([['a', { id: 'subnet-1', zone: 'a' }]]),
    tags: {},
    clientToken: 't',
    prioritized: false,
    context: undefined,
  };
  expect(fleetRequest(input).LaunchTemplateConfigs).toHaveLength(50);
});
