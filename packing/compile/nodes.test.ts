import { describe, expect, test } from '@jest/globals';
import type { Node, Taint } from '../../api/kubernetes.js';
import { labels, taints } from '../../api/labels.js';
import { viewNodes } from './nodes.js';

const node = (initialized: boolean, present: Taint[]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'a',
    labels: { [labels.nodePool]: 'default', ...(initialized ? { [labels.initialized]: 'true' } : {}) },
  },
  spec: { taints: present },
});

describe('taints of a node in packing', () => {
  const soft: Taint = { key: 'batch', effect: 'PreferNoSchedule' };

  test.each([true, false])('the steering taint is ignored (initialized: %s)', (initialized) => {
    const views = viewNodes({ nodes: [node(initialized, [soft, taints.steer])], pods: [], nodePools: [] }, undefined);

    expect(views.map((view) => view.taints)).toEqual([[soft]]);
  });
});

// Rule `scheduling/starting-nodes`. Its instance may have outlived its claim, which a restored etcd lacks.
test('a node with the unregistered taint and no claim takes no pods', () => {
  const views = viewNodes({ nodes: [node(false, [taints.unregistered])], pods: [], nodePools: [] }, undefined);
  expect(views.map((view) => view.taints)).toEqual([[taints.unregistered]]);
});

describe('a NodeClaim without an instance, in packing', () => {
  const claim = (status: object) => ({
    metadata: { name: 'c', labels: { [labels.nodePool]: 'default' } },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
      resources: { requests: { cpu: '3', memory: '5Gi' } },
      expireAfter: 'Never',
    },
    status,
  });
  const roomOf = (status: object) =>
    viewNodes({ nodes: [], nodeClaims: [claim(status) as never], pods: [], nodePools: [] }, undefined)[0]?.allocatable;

  test('has the requests that it was created for as its room, until allocatable is known', () => {
    expect(roomOf({})).toEqual({ cpu: '3', memory: '5Gi' });
    expect(roomOf({ allocatable: { cpu: '4', memory: '7Gi' } })).toEqual({ cpu: '4', memory: '7Gi' });
  });
});

describe('a node that is not registered, in packing', () => {
  const own: Taint = { key: 'own', effect: 'NoSchedule' };
  const promised: Taint = { key: 'promised', effect: 'NoSchedule' };
  const startup: Taint = { key: 'startup', effect: 'NoSchedule' };
  const view = (nodeLabels: Record<string, string>) =>
    viewNodes(
      {
        nodes: [
          {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: { name: 'a', labels: { [labels.nodePool]: 'default', team: 'own', ...nodeLabels } },
            spec: { providerID: 'p://a', taints: [own, startup] },
          },
        ],
        nodeClaims: [
          {
            apiVersion: 'karpenter.sh/v1',
            kind: 'NodeClaim',
            metadata: { name: 'c', labels: { [labels.nodePool]: 'default', team: 'promised' } },
            spec: {
              nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
              requirements: [{ key: labels.zone, operator: 'In', values: ['zone-a'] }],
              taints: [promised],
              startupTaints: [startup],
              expireAfter: 'Never',
            },
            status: { providerID: 'p://a' },
          },
        ],
        pods: [],
        nodePools: [],
      },
      undefined,
    );

  test('has the labels and taints of its claim', () => {
    expect(view({})).toMatchObject([
      { name: 'a', labels: { team: 'promised', [labels.zone]: 'zone-a', [labels.hostname]: 'a' }, taints: [promised] },
    ]);
  });

  test('has its own labels and taints once it is registered', () => {
    const [registered] = view({ [labels.registered]: 'true' });
    expect(registered).toMatchObject({ labels: { team: 'own' }, taints: [own] });
    expect(registered!.labels).not.toHaveProperty([labels.zone]);
  });
});
