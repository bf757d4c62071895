import { expect, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { nodeOf } from './cluster.js';

const id = 'aws:///us-west-2a/i-1';
const node = (name: string, providerID: string = id): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { providerID },
});

/** With an index that has the last Node of the list, as the one that was written last. */
const cacheOf = (...nodes: readonly Node[]): Parameters<typeof nodeOf>[0] => ({
  get: (_kind, { name }) => nodes.find(({ metadata }) => metadata.name === name),
  nodeByProviderId: (wanted) => nodes.filter(({ spec }) => spec?.providerID === wanted).at(-1),
});

const claim = (status: NodeClaim['status']): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'c' },
  spec: {
    requirements: [],
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    expireAfter: 'Never',
  },
  status,
});

test('a claim keeps the Node that registered beside a second one of its instance (registration/second-node)', () => {
  const registered = claim({ providerID: id, nodeName: 'n1' });
  expect(nodeOf(cacheOf(node('n1'), node('n2')), registered)?.metadata.name).toBe('n1');
});

test('a claim takes the second Node once its registered one is gone or of another instance', () => {
  const registered = claim({ providerID: id, nodeName: 'n1' });
  expect(nodeOf(cacheOf(node('n2')), registered)?.metadata.name).toBe('n2');
  expect(nodeOf(cacheOf(node('n1', 'aws:///us-west-2a/i-9'), node('n2')), registered)?.metadata.name).toBe('n2');
});

test('an unregistered claim has the Node of its instance, an unlaunched one none', () => {
  expect(nodeOf(cacheOf(node('n1')), claim({ providerID: id }))?.metadata.name).toBe('n1');
  expect(nodeOf(cacheOf(node('n1', '')), claim({ providerID: '', nodeName: 'n1' }))).toBeUndefined();
});
