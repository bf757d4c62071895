import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { apart, near, spreads, topologyOf } from '../../test/builders/topology.js';
import { Cells } from './cells.js';
import { topologyBlocker } from './explain.js';
import { Feasibility } from './feasibility.js';

const { zone, hostname } = labels;
const web = { labels: { app: 'web' } };
const db = { labels: { app: 'db' } };
const zones = ['zone-a', 'zone-b'];
const types = [instanceType('m4', { cpu: 4, zones })];

/** The pass of the first pod, with counts to be filled, and what keeps the pod out. */
function worldOf(own: Pod, ...others: Pod[]) {
  const { topologyCounts, rulesOf, compiled, nodes } = topologyOf(packingInput({ pods: [own, ...others] }, { types }));
  const feasibility = new Feasibility(compiled);
  const rules = rulesOf(own);
  const podClass = compiled.classes.all.find(({ pods }) => pods.includes(own))!;
  const cells = new Cells(compiled, feasibility, nodes).of({
    podClass,
    level: rules.level,
    rules,
    excluded: new Set(),
  });
  return {
    counts: topologyCounts,
    rules,
    rulesOf,
    blocker: (some = cells) => topologyBlocker(rules, some, topologyCounts, () => false),
    cells,
  };
}
const blocked = (subject: string, message: string) => ({ reason: 'Topology', subject, message });

test('explain: a pod without rules has no blocker', () => {
  expect(worldOf(pod('own', web)).blocker()).toBeUndefined();
});

test('explain: rules that each leave a domain may leave none together', () => {
  expect(worldOf(pod('own', { ...web, ...spreads() })).blocker()).toEqual(
    blocked(zone, 'its topology rules allow no domain together'),
  );
});

describe('explaining a spread', () => {
  test('says how many pods each domain has', () => {
    const { counts, rules, cells, blocker } = worldOf(pod('own', { ...web, ...spreads() }));
    const onlyFirst = cells.slice(0, 1);
    counts.addSelected(rules.spread[0]!, 'zone-a', 1);
    expect(blocker(onlyFirst)).toEqual(
      blocked(zone, `spreading over ${zone} with a skew of 1 has no room (zone-a: 1, zone-b: 0)`),
    );
    expect(blocker()?.message).toBe('its topology rules allow no domain together');
    counts.addSelected(rules.spread[0]!, 'zone-b', 1);
    expect(blocker(onlyFirst)?.message).toBe('its topology rules allow no domain together');
  });

  test('ignores a pod that it does not select', () => {
    const { counts, rules, cells, blocker } = worldOf(pod('own', { ...db, ...spreads() }));
    counts.addSelected(rules.spread[0]!, 'zone-a', 1);
    expect(blocker(cells.slice(0, 1))?.message).toBe('its topology rules allow no domain together');
    counts.addSelected(rules.spread[0]!, 'zone-a', 1);
    expect(blocker(cells.slice(0, 1))?.message).toContain('has no room (zone-a: 2, zone-b: 0)');
  });

  test.each([
    {
      minDomains: 3,
      counts: { 'zone-a': 1, 'zone-b': 1 },
      text: 'zone-a: 1, zone-b: 1; minDomains asks for 3 domains',
    },
    { minDomains: 2, counts: { 'zone-a': 2, 'zone-b': 1 }, text: 'zone-a: 2, zone-b: 1' },
  ])('with minDomains $minDomains', ({ minDomains, counts: there, text }) => {
    const { counts, rules, cells, blocker } = worldOf(pod('own', { ...web, ...spreads({ minDomains }) }));
    for (const [name, pods] of Object.entries(there)) counts.addSelected(rules.spread[0]!, name, pods);
    expect(blocker(cells.slice(0, 1))?.message).toBe(`spreading over ${zone} with a skew of 1 has no room (${text})`);
  });

  test('over a label that no node could have', () => {
    const { blocker } = worldOf(pod('own', { ...web, ...spreads({ topologyKey: 'rack' }) }));
    expect(blocker()).toEqual(blocked('rack', 'no node for it has, or could have, the label rack'));
  });
});

describe('explaining affinity', () => {
  test('to other pods that are in no allowed domain', () => {
    const { counts, rules, blocker } = worldOf(pod('own', near('web')));
    const message = `no ${zone} that it may use has a pod that its affinity wants`;
    expect(blocker()).toEqual(blocked(zone, message));
    counts.addSelected(rules.affinity[0]!, 'zone-c', 1);
    expect(blocker()).toEqual(blocked(zone, message));
    counts.addSelected(rules.affinity[0]!, 'zone-b', 1);
    expect(blocker()?.message).toBe('its topology rules allow no domain together');
  });

  test('to its own pods is no blocker where there is a domain', () => {
    const { counts, rules, blocker } = worldOf(pod('own', { ...web, ...near('web') }));
    expect(blocker()?.message).toBe('its topology rules allow no domain together');
    expect(blocker([])?.message).toContain('no topology.kubernetes.io/zone that it may use has a pod');
    counts.addSelected(rules.affinity[0]!, 'zone-c', 1);
    expect(blocker()?.message).toContain('no topology.kubernetes.io/zone that it may use has a pod');
  });

  test('of several terms names them all', () => {
    const [one] = near('web').affinity!.podAffinity!.requiredDuringSchedulingIgnoredDuringExecution!;
    const two = { ...one!, labelSelector: { matchLabels: { tier: 'front' } } };
    const own = pod('own', {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [one!, two] } },
    });
    expect(worldOf(own).blocker()?.message).toBe(
      `no ${zone} that it may use has a pod that all of its affinity terms select`,
    );
  });
});

describe('explaining anti-affinity', () => {
  test('to pods that are in every domain', () => {
    const { counts, rules, blocker } = worldOf(pod('own', apart('web')));
    counts.addSelected(rules.antiAffinity[0]!, 'zone-a', 1);
    expect(blocker()?.message).toBe('its topology rules allow no domain together');
    counts.addSelected(rules.antiAffinity[0]!, 'zone-b', 1);
    expect(blocker()).toEqual(
      blocked(zone, `every ${zone} that it may use has a pod that its anti-affinity keeps away from`),
    );
  });

  test('of pods that are in every domain', () => {
    const shy = pod('shy', apart('web'));
    const fond = pod('fond', near('web'));
    const shyOnHost = pod('shy-on-host', apart('web', hostname));
    const { counts, rules, rulesOf, blocker } = worldOf(pod('own', { ...web, ...spreads() }), shy, fond, shyOnHost);
    const together = 'its topology rules allow no domain together';
    for (const group of rules.matched) counts.addOwner(group, 'zone-a', 1);
    expect(blocker()?.message).toBe(together);
    for (const group of rules.matched) if (group !== rulesOf(shy).antiAffinity[0]) counts.addOwner(group, 'zone-b', 1);
    expect(blocker()?.message).toBe(together);
    counts.addOwner(rulesOf(shy).antiAffinity[0]!, 'zone-b', 1);
    expect(blocker()).toEqual(
      blocked(zone, `every ${zone} that it may use has a pod whose anti-affinity keeps it away`),
    );
  });

  test('of pods that can be nowhere is no blocker', () => {
    const { blocker } = worldOf(pod('own', web), pod('shy', apart('web')));
    expect(blocker([])?.message).toBe('its topology rules allow no domain together');
  });
});

describe('explaining affinity by host name', () => {
  test('to pods that are nowhere', () => {
    const { counts, rules, blocker } = worldOf(pod('own', near('web', hostname)));
    expect(blocker()).toEqual(blocked(hostname, 'there is no pod that its affinity wants'));
    counts.addSelected(rules.hostAffinity[0]!, 'node-a', 1);
    expect(blocker()).toEqual(blocked(hostname, 'no node with the pods that its affinity wants has room for it'));
  });

  test('to its own pods that find no room', () => {
    const { blocker } = worldOf(pod('own', { ...web, ...near('web', hostname) }));
    expect(blocker()).toEqual(blocked(hostname, 'no node with the pods that its affinity wants has room for it'));
  });
});
