import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import type { Site } from '../topology/topology-counts.js';
import { AffinityCycles, type ClassOnNode } from './affinity-cycles.js';

const { zone } = labels;

/** A pod of the app that wants to be in a zone with one of the others. */
const near = (app: string, ...others: string[]): Pod =>
  pod(app, {
    labels: { app },
    ...(others.length > 0 && {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: zone,
              labelSelector: { matchExpressions: [{ key: 'app', operator: 'In' as const, values: others }] },
            },
          ],
        },
      },
    }),
  });

/** Which affinity finds no pod, as `app domain`, where each pod is in the zones named. */
function stuck(pods: readonly Pod[], zonesOf: Readonly<Record<string, readonly string[]>>) {
  const { topologyCounts, rulesOf, compiled } = topologyOf(packingInput({ pods }));
  const onNodes: ClassOnNode[] = [];
  for (const own of pods) {
    const rules = rulesOf(own);
    for (const domain of zonesOf[own.metadata.name!] ?? []) {
      const values = compiled.space.keys.map((key) => (key === zone ? domain : undefined));
      const site: Site = { host: undefined, kind: { values, taints: [] } };
      topologyCounts.record(rules, 1, site);
      onNodes.push({ rules, pods: 1, domainOf: () => domain });
    }
  }
  const cycles = new AffinityCycles(pods.map((own) => rulesOf(own)));
  const nameOf = (group: unknown): string =>
    pods.find((own) => rulesOf(own).affinity.some((each) => each === group))!.metadata.name!;
  return {
    any: cycles.any,
    stuck: cycles.unmet(onNodes, topologyCounts).map(({ group, domain }) => `${nameOf(group)} ${domain!}`),
  };
}

// Rule `topology/affinity-cycles`.
describe('affinity cycles: pods that wait for each other', () => {
  const leader = near('leader');

  test('can begin where one of them waits for nothing there', () => {
    const pods = [near('a', 'b', 'leader'), near('b', 'a'), leader];
    expect(stuck(pods, { a: ['one'], b: ['one'], leader: ['one'] })).toEqual({ any: true, stuck: [] });
  });

  test('are stuck in the domain where none of them can begin', () => {
    const pods = [near('a', 'b', 'leader'), near('b', 'a'), leader];
    const { stuck: found } = stuck(pods, { a: ['one', 'two'], b: ['one', 'two'], leader: ['one'] });
    expect(found.sort()).toEqual(['a two', 'b two']);
  });

  test('can begin with a pod that its own rule selects, in one zone only', () => {
    const pods = [near('a', 'b', 'a'), near('b', 'a')];
    expect(stuck(pods, { a: ['one'], b: ['one'] })).toEqual({ any: true, stuck: [] });
    expect(stuck(pods, { a: ['one', 'two'], b: ['one', 'two'] }).stuck.sort()).toEqual(['a two', 'b two']);
  });

  test('are no cycle where the last one waits for nothing', () => {
    const pods = [near('a', 'b'), near('b', 'leader'), leader];
    expect(stuck(pods, { a: ['one'], b: ['two'], leader: ['one'] })).toEqual({ any: false, stuck: [] });
  });

  test('can be three, each of which waits for the next', () => {
    const pods = [near('a', 'b'), near('b', 'c'), near('c', 'a', 'leader'), leader];
    const { any, stuck: found } = stuck(pods, { a: ['one'], b: ['one'], c: ['one'], leader: ['two'] });
    expect(any).toBe(true);
    expect(found.sort()).toEqual(['a one', 'b one', 'c one']);
  });
});
