import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { apart, near, spreads, topologyOf } from '../../test/builders/topology.js';
import { allows, isFree, keepsSkew, meetsHostAffinity } from './admission.js';

const { zone, hostname } = labels;
const web = { labels: { app: 'web' } };

/** The rules of the first pod, with counts that are to be filled. */
function worldOf(own: Pod, ...others: Pod[]) {
  const { topologyCounts, rulesOf } = topologyOf(packingInput({ pods: [own, ...others] }));
  return { counts: topologyCounts, rules: rulesOf(own), rulesOf };
}

const inZone = (name: string) => (key: string) => (key === zone ? name : undefined);
const nowhere = () => undefined;

describe('admission by a spread (topology/spread)', () => {
  test.each([
    { a: 1, others: 0, allowed: false },
    { a: 0, others: 0, allowed: true },
    { a: 1, others: 1, allowed: true },
  ])('a pod that it selects, with $a in the domain and $others elsewhere', ({ a, others, allowed }) => {
    const { counts, rules } = worldOf(pod('own', { ...web, ...spreads() }));
    counts.addSelected(rules.spread[0]!, 'zone-a', a);
    for (const other of ['zone-b', 'zone-c']) counts.addSelected(rules.spread[0]!, other, others);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(allowed);
  });

  test('a pod that it does not select adds nothing to the skew', () => {
    const { counts, rules } = worldOf(pod('own', spreads()));
    counts.addSelected(rules.spread[0]!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(true);
    counts.addSelected(rules.spread[0]!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(false);
  });

  test('refuses where there is no domain', () => {
    const { counts, rules } = worldOf(pod('own', { ...web, ...spreads() }));
    expect(allows(counts, rules, nowhere)).toBe(false);
    expect(keepsSkew(counts, rules.spread[0]!, undefined, false)).toBe(false);
    expect(keepsSkew(counts, rules.spread[0]!, 'zone-a', true)).toBe(true);
  });
});

describe('admission by anti-affinity', () => {
  test('refuses a domain with a selected pod, and no other', () => {
    const { counts, rules } = worldOf(pod('own', apart('web')));
    counts.addSelected(rules.antiAffinity[0]!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(false);
    expect(allows(counts, rules, inZone('zone-b'))).toBe(true);
    expect(allows(counts, rules, nowhere)).toBe(true);
  });

  test('of another pod refuses the pods that it selects in its domain (topology/running-anti-affinity)', () => {
    const shy = pod('shy', apart('web'));
    const { counts, rules, rulesOf } = worldOf(pod('own', web), shy);
    const [group] = rulesOf(shy).antiAffinity;
    expect(allows(counts, rules, inZone('zone-a'))).toBe(true);
    counts.addOwner(group!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(false);
    expect(allows(counts, rules, inZone('zone-b'))).toBe(true);
    expect(allows(counts, rules, nowhere)).toBe(true);
  });

  test('of another pod by host name closes no domain, nor do other rules that select the pod', () => {
    const shy = pod('shy', apart('web', hostname));
    const fond = pod('fond', near('web'));
    const { counts, rules, rulesOf } = worldOf(pod('own', web), shy, fond);
    counts.addOwner(rulesOf(shy).hostAntiAffinity[0]!, 'zone-a', 1);
    counts.addOwner(rulesOf(fond).affinity[0]!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(true);
    expect(allows(counts, rules, () => 'zone-a')).toBe(true);
  });
});

describe('admission by affinity', () => {
  test('requires a domain with a selected pod', () => {
    const { counts, rules } = worldOf(pod('own', near('web')));
    expect(allows(counts, rules, inZone('zone-a'))).toBe(false);
    counts.addSelected(rules.affinity[0]!, 'zone-a', 1);
    expect(allows(counts, rules, inZone('zone-a'))).toBe(true);
    expect(allows(counts, rules, inZone('zone-b'))).toBe(false);
    expect(allows(counts, rules, nowhere)).toBe(false);
  });

  test('to its own pods admits the first pod in any domain, or in the one decided for it', () => {
    const { counts, rules } = worldOf(pod('own', { ...web, ...near('web') }));
    expect(allows(counts, rules, inZone('zone-a'))).toBe(true);
    expect(allows(counts, rules, nowhere)).toBe(false);
    const begins = (_: unknown, domain: string): boolean => domain === 'zone-b';
    expect(allows(counts, rules, inZone('zone-a'), begins)).toBe(false);
    expect(allows(counts, rules, inZone('zone-b'), begins)).toBe(true);
    counts.addSelected(rules.affinity[0]!, 'zone-c', 1);
    expect(allows(counts, rules, inZone('zone-b'), begins)).toBe(false);
    expect(allows(counts, rules, inZone('zone-c'), begins)).toBe(true);
  });

  test('to other pods admits no first pod', () => {
    const { counts, rules } = worldOf(pod('own', near('web')));
    expect(allows(counts, rules, inZone('zone-a'), () => true)).toBe(false);
  });
});

describe('admission by affinity by host name', () => {
  test('admits on the host of a selected pod', () => {
    const { counts, rules } = worldOf(pod('own', near('web', hostname)));
    expect(meetsHostAffinity(counts, rules, 'node-a')).toBe(false);
    counts.addSelected(rules.hostAffinity[0]!, 'node-a', 1);
    expect(meetsHostAffinity(counts, rules, 'node-a')).toBe(true);
    expect(meetsHostAffinity(counts, rules, 'node-b')).toBe(false);
    expect(meetsHostAffinity(counts, rules, undefined)).toBe(false);
  });

  test('to its own pods admits the first pod on any host', () => {
    const { counts, rules } = worldOf(pod('own', { ...web, ...near('web', hostname) }));
    expect(meetsHostAffinity(counts, rules, 'node-a')).toBe(true);
    expect(meetsHostAffinity(counts, rules, undefined)).toBe(true);
    counts.addSelected(rules.hostAffinity[0]!, 'node-b', 1);
    expect(meetsHostAffinity(counts, rules, 'node-a')).toBe(false);
    expect(meetsHostAffinity(counts, rules, undefined)).toBe(false);
  });

  test('admits where no selected pod exists yet and the pod selects itself', () => {
    const { counts, rules } = worldOf(pod('own', web));
    expect(meetsHostAffinity(counts, rules, undefined)).toBe(true);
  });
});

describe('removing a single pod from its node', () => {
  const own = pod('own', web);
  const fond = pod('fond', near('web', hostname));
  const fondInZone = pod('fond-in-zone', near('web'));
  const shy = pod('shy', apart('web', hostname));
  const set = () => {
    const { counts, rules, rulesOf } = worldOf(own, fond, fondInZone, shy);
    for (const group of rules.matched) counts.addSelected(group, 'node-a', 1);
    const free = (...others: Pod[]): boolean =>
      isFree(
        counts,
        rules,
        'node-a',
        others.map((other) => ({ rules: rulesOf(other) })),
      );
    return { counts, rules, rulesOf, free };
  };

  test("is allowed unless it is the last that satisfies another pod's affinity there", () => {
    const { counts, rulesOf, free } = set();
    expect(free(fond)).toBe(false);
    expect(free(shy, fond)).toBe(false);
    counts.addSelected(rulesOf(fond).hostAffinity[0]!, 'node-a', 1);
    expect(free(fond)).toBe(true);
  });

  test('is allowed whatever other rules select it', () => {
    const { free } = set();
    expect(free()).toBe(true);
    expect(free(fondInZone)).toBe(true);
    expect(free(shy)).toBe(true);
  });
});
