import { beforeEach, describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../../api/labels.js';
import { pod } from '../../cases/objects.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import { dispensable } from './consolidated.js';

describe("the simulation's check for nodes that consolidation should have removed", () => {
  let kube: FakeKube;

  beforeEach(() => {
    kube = createFakeKube();
    addNode('a');
    addNode('b');
  });

  const addNode = (name: string, own: Record<string, string> = {}): void => {
    const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };
    const metadata = { name, labels: { [labels.nodePool]: 'default' }, annotations: own };
    kube.put('Node', { metadata, spec: {}, status: { allocatable } });
  };
  const run = (name: string, nodeName: string, cpu: string, own: Record<string, string> = {}): void => {
    const { metadata, ...rest } = pod(name, { app: 'web' }, { cpu, memory: '1Gi' }, { nodeName });
    kube.put('Pod', { ...rest, metadata: { ...metadata, annotations: own } });
  };
  const found = (): string[] => [...dispensable(kube, 'default')];

  test('finds nodes whose pods fit on the other nodes', () => {
    run('one', 'a', '3');
    run('two', 'b', '1');
    expect(found()).toEqual(['node a could go: its 1 pods fit onto the others', expect.stringContaining('node b')]);
  });

  test('finds no node whose pods, one or all of them, fit nowhere else', () => {
    run('one', 'a', '3');
    run('two', 'b', '1');
    run('three', 'b', '1');
    expect(found()).toEqual([]);
  });

  test('finds no node whose pods anti-affinity keeps off the other nodes', async () => {
    run('one', 'a', '1');
    run('two', 'b', '1');
    const [term] = [{ topologyKey: labels.hostname, labelSelector: { matchLabels: { app: 'web' } } }];
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    for (const node of kube.kept('Node')) {
      const own = { [labels.hostname]: node.metadata.name ?? '' };
      await kube.patch('Node', { name: node.metadata.name ?? '' }, { metadata: { labels: own } });
    }
    expect(found()).toHaveLength(2);
    await kube.patch('Pod', { namespace: 'default', name: 'one' }, { spec: { affinity } });
    expect(found()).toEqual([]);
  });

  test('finds no node that is marked do-not-disrupt, has such a pod, or is of another NodePool', () => {
    run('one', 'a', '1', { [annotations.doNotDisrupt]: 'true' });
    run('two', 'b', '1');
    addNode('b', { [annotations.doNotDisrupt]: 'true' });
    expect(found()).toEqual([]);
    addNode('b');
    expect(found()).toEqual([expect.stringContaining('node b')]);
    expect([...dispensable(kube, 'other')]).toEqual([]);
  });
});
