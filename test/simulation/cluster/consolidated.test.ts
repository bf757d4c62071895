import { beforeEach, describe, expect, test } from 'vitest';
import { annotations, labels } from '../../../api/labels.js';
import { pod } from '../../cases/objects.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import { dispensable } from './consolidated.js';

describe('nodes that a cluster at rest could do without', () => {
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

  test('those whose pods fit onto the others', () => {
    run('one', 'a', '3');
    run('two', 'b', '1');
    expect(found()).toEqual(['node a could go: its 1 pods fit onto the others', expect.stringContaining('node b')]);
  });

  test('not those whose pods fit nowhere else, in all or singly', () => {
    run('one', 'a', '3');
    run('two', 'b', '1');
    run('three', 'b', '1');
    expect(found()).toEqual([]);
  });

  test('not those whose pods a rule keeps from the others', async () => {
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

  test('not those that must not be disrupted, nor where a pod must not, nor of other NodePools', () => {
    run('one', 'a', '1', { [annotations.doNotDisrupt]: 'true' });
    run('two', 'b', '1');
    addNode('b', { [annotations.doNotDisrupt]: 'true' });
    expect(found()).toEqual([]);
    addNode('b');
    expect(found()).toEqual([expect.stringContaining('node b')]);
    expect([...dispensable(kube, 'other')]).toEqual([]);
  });
});
