import { expect, test } from 'vitest';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Taint } from '../../api/kubernetes.js';
import { whyNotInitialized } from './node-readiness.js';

const claim = { metadata: { name: 'c' }, spec: {} } as NodeClaim;
const node = (taint: Taint): Node =>
  ({
    metadata: { name: 'n' },
    spec: { taints: [taint] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }) as Node;

// Rule `labels/starting-taints`.
test.each<[string, string, string | undefined, boolean]>([
  ['node.kubernetes.io/not-ready', 'NoExecute', undefined, true],
  ['node.kubernetes.io/unreachable', 'NoSchedule', undefined, true],
  ['node.kubernetes.io/not-ready', 'PreferNoSchedule', undefined, false],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'true', true],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'false', false],
  ['readiness.k8s.io/network', 'NoSchedule', undefined, true],
  ['example.com/dedicated', 'NoSchedule', 'web', false],
])('taint %s:%s of value %s keeps a node from being initialized: %s', (key, effect, value, keeps) => {
  const taint = { key, effect, ...(value === undefined ? {} : { value }) } as Taint;

  expect(whyNotInitialized(claim, node(taint))?.reason).toBe(keeps ? 'KnownEphemeralTaintsExist' : undefined);
});
