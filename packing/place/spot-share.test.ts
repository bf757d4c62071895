import { describe, expect, test } from '@jest/globals';
import { disruptionPolicies, type SpotRatio } from '../../api/stowage/disruption-policy.js';
import { labels } from '../../api/labels.js';
import { node, packingInput, pod, pool } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import { ratioOf, runningShares, shareOut, type SpotChoice } from './spot-share.js';

const ratio = (spotPercent: number, more: Partial<SpotRatio> = {}): SpotRatio => ({
  spotPercent,
  minimumOnDemandVCPU: 0,
  perZone: false,
  ...more,
});
const choice = (cpus: number, more: Partial<SpotChoice> = {}): SpotChoice => ({
  pool: 'default',
  zone: 'zone-a',
  spot: cpus * 1000,
  onDemand: cpus * 1000,
  ...more,
});
/** `s` for spot and `d` for on-demand, in the order of the choices. */
const shares = (
  given: SpotRatio,
  choices: readonly SpotChoice[],
  running: Readonly<Record<string, { spot: number; onDemand: number }>> = {},
): string =>
  shareOut(given, choices, new Map(Object.entries(running)))
    .map((share) => ({ spot: 's', 'on-demand': 'd' })[share])
    .join('');

test('the spot ratio of a NodePool is that of its policy', () => {
  const policy = disruptionPolicies.mustParse({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: 'p' },
    spec: { spotRatio: { spotPercent: 70 }, nodePoolSelector: { matchLabels: { team: 'a' } } },
  });
  const ours = { ...pool('ours'), metadata: { name: 'ours', labels: { team: 'a' } } };
  const theirs = pool('theirs');
  const objects = { pods: [pod('p')], nodePools: [ours, theirs], disruptionPolicies: [policy] };
  const { compiled } = topologyOf(packingInput(objects));
  expect(ratioOf(compiled, ours)).toMatchObject({ spotPercent: 70 });
  expect(ratioOf(compiled, theirs)).toBeUndefined();
});

describe("the spot ratio's choice of capacity types", () => {
  test.each([
    { percent: 0, expected: 'dddd' },
    { percent: 25, expected: 'dsdd' },
    { percent: 50, expected: 'sdsd' },
    { percent: 75, expected: 'ssds' },
    { percent: 100, expected: 'ssss' },
  ])('for four equal nodes at $percent%', ({ percent, expected }) => {
    expect(shares(ratio(percent), [choice(2), choice(2), choice(2), choice(2)])).toBe(expected);
  });

  test('is made for large nodes first, so that small ones even it out', () => {
    expect(shares(ratio(50), [choice(1), choice(1), choice(8), choice(6)])).toBe('ddsd');
  });

  test('counts running nodes', () => {
    expect(shares(ratio(50), [choice(2)], { '': { spot: 2000, onDemand: 0 } })).toBe('d');
    expect(shares(ratio(50), [choice(2)], { '': { spot: 0, onDemand: 2000 } })).toBe('s');
  });

  test('leaves the given tallies unchanged', () => {
    const running = { '': { spot: 1000, onDemand: 0 } };
    shares(ratio(50), [choice(2)], running);
    expect(running).toEqual({ '': { spot: 1000, onDemand: 0 } });
  });

  test('gives nodes that allow one type only that type, and counts them for the others', () => {
    const onlySpot = choice(2, { onDemand: undefined });
    const onlyOnDemand = choice(2, { spot: undefined });
    expect(shares(ratio(50), [choice(2), onlySpot])).toBe('ds');
    expect(shares(ratio(50), [choice(2), onlyOnDemand])).toBe('sd');
    expect(shares(ratio(50), [choice(2), onlyOnDemand, onlySpot])).toBe('sds');
    expect(shares(ratio(0), [onlySpot])).toBe('s');
    expect(shares(ratio(100), [choice(2, { spot: undefined, onDemand: undefined })])).toBe('d');
  });

  test('per zone counts each zone separately', () => {
    const choices = [choice(2), choice(2, { zone: 'zone-b' }), choice(2, { zone: undefined })];
    const running = { 'zone-a': { spot: 2000, onDemand: 0 }, '': { spot: 4000, onDemand: 0 } };
    expect(shares(ratio(50, { perZone: true }), choices, running)).toBe('dsd');
    expect(shares(ratio(50), choices, running)).toBe('dds');
  });
});

describe('minimumOnDemandVCPU', () => {
  test('is bought before any spot', () => {
    const least = ratio(100, { minimumOnDemandVCPU: 3 });
    expect(shares(least, [choice(2), choice(2), choice(2)])).toBe('dds');
    expect(shares(ratio(100, { minimumOnDemandVCPU: 2 }), [choice(2), choice(2), choice(2)])).toBe('dss');
  });

  test('counts running nodes of every zone, and new ones that can only be on-demand', () => {
    const least = ratio(100, { minimumOnDemandVCPU: 4, perZone: true });
    const onlyOnDemand = choice(2, { spot: undefined, zone: 'zone-b' });
    expect(shares(least, [choice(2), choice(2)], { 'zone-c': { spot: 0, onDemand: 2000 } })).toBe('ds');
    expect(shares(least, [choice(2), choice(2), onlyOnDemand], { 'zone-c': { spot: 9000, onDemand: 2000 } })).toBe(
      'ssd',
    );
  });
});

describe('running nodes in the spot ratio', () => {
  const nodes = [
    node('spot', { cpu: '2', labels: { [labels.capacityType]: 'spot' } }),
    node('more-spot', { cpu: '1', zone: 'zone-b', labels: { [labels.capacityType]: 'spot' } }),
    node('on-demand', { cpu: '4', labels: { [labels.capacityType]: 'on-demand' } }),
    node('more-on-demand', { cpu: '8' }),
    node('elsewhere', { cpu: '16', pool: 'other' }),
    node('leaving', { cpu: '32' }),
  ];
  const zoneless = {
    ...node('zoneless', { cpu: '64' }),
    metadata: { name: 'zoneless', labels: { [labels.nodePool]: 'default' } },
  };
  const { compiled } = topologyOf(
    packingInput({ pods: [pod('p')], nodes: [...nodes, zoneless] }, { withoutNodes: new Set(['leaving']) }),
  );

  test('are those of the NodePool that stay', () => {
    expect([...runningShares(compiled, 'default', false)]).toEqual([['', { spot: 3000, onDemand: 76000 }]]);
    expect([...runningShares(compiled, 'other', false)]).toEqual([['', { spot: 0, onDemand: 16000 }]]);
    expect([...runningShares(compiled, 'none', false)]).toEqual([]);
  });

  test('are counted per zone', () => {
    expect(Object.fromEntries(runningShares(compiled, 'default', true))).toEqual({
      'zone-a': { spot: 2000, onDemand: 12000 },
      'zone-b': { spot: 1000, onDemand: 0 },
      '': { spot: 0, onDemand: 64000 },
    });
  });
});
