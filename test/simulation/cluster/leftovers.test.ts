import { beforeEach, describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../../api/labels.js';
import { pod } from '../../cases/objects.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import { leftovers } from './leftovers.js';

describe("the simulation's check for leftovers in a cluster at rest", () => {
  let kube: FakeKube;
  let open: string[];

  beforeEach(() => {
    kube = createFakeKube();
    open = ['c/provision', 'c/disrupt', 'c/expire/u1'];
    addPool({});
    kube.put('NodeClaim', { metadata: { name: 'a', labels: { [labels.nodePool]: 'default' } }, spec: {} } as never);
    kube.put('Node', { metadata: { name: 'a', labels: { [labels.nodePool]: 'default' } }, spec: { taints: [] } });
    kube.put('Pod', pod('web', { app: 'web' }, {}, { nodeName: 'a' }));
  });

  const addPool = (more: {
    readonly nodes?: string;
    readonly condition?: string;
    readonly replicas?: number;
  }): void => {
    const conditions = ['Ready', ...(more.condition === undefined ? [] : [more.condition])].map((type) => ({
      ...{ type, status: 'True', reason: type, message: '' },
    }));
    const spec = more.replicas === undefined ? {} : { replicas: more.replicas };
    const status = { conditions, resources: { nodes: more.nodes ?? '1' } };
    kube.put('NodePool', { metadata: { name: 'default' }, spec, status } as never);
  };
  const found = (): string[] => {
    const all = open.map((id) => ({ id, isOpen: true }));
    return [...leftovers(kube, { all } as unknown as SimulatedTemporal)];
  };

  test('finds nothing where all nodes are used and only entity workflows run', () => {
    expect(found()).toEqual([]);
  });

  test.each([
    ['a condition of a disruption', { status: { conditions: [{ type: 'DisruptionReason', status: 'True' }] } }, 'still says DisruptionReason'], // prettier-ignore
    ['an owner of one', { metadata: { annotations: { [annotations.disruptionOwner]: 'c/consolidate/1' } } }, 'still has an owner'], // prettier-ignore
  ])('%s', (_, { metadata = {}, status = {} }: { metadata?: object; status?: object }, expected) => {
    const own = { name: 'a', labels: { [labels.nodePool]: 'default' }, ...metadata };
    kube.put('NodeClaim', { metadata: own, spec: {}, status } as never);
    expect(found()).toEqual([expect.stringContaining(expected)]);
  });

  test('finds a node with DaemonSet pods alone, unless its NodePool is static', () => {
    kube.remove('Pod', { name: 'web', namespace: 'default' });
    const { metadata, ...rest } = pod('agent', {}, {}, { nodeName: 'a' });
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'u', controller: true };
    kube.put('Pod', { ...rest, metadata: { ...metadata, ownerReferences: [owner] } });
    expect(found()).toEqual(['node a has no pods']);
    addPool({ replicas: 1 });
    expect(found()).toEqual([]);
  });

  test('finds a node that still has a taint of Stowage', () => {
    const spec = { taints: [{ key: 'stowage.dev/steer', effect: 'PreferNoSchedule' as const }] };
    kube.put('Node', { metadata: { name: 'a', labels: { [labels.nodePool]: 'default' } }, spec });
    expect(found()).toEqual([expect.stringContaining('node a still has taints')]);
  });

  test('finds a NodePool whose status counts the wrong number of nodes, or that still has a failure condition', () => {
    addPool({ nodes: '2' });
    expect(found()).toEqual(['NodePool default counts 2 nodes and has 1']);
    addPool({ condition: 'PodsPlanned' });
    expect(found()).toEqual(['NodePool default still says PodsPlanned']);
  });

  test('finds an open workflow about a NodeClaim that is gone', () => {
    open.push('c/terminate/u1');
    expect(found()).toEqual(['workflow c/terminate/u1 still runs']);
  });
});
