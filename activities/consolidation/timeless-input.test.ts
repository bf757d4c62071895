import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { ConsolidationInput } from '../../disruption/consolidation/types.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { isTimeless } from './timeless-input.js';

const now = Date.parse('2026-01-05T12:00:00Z');
const hour = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();

const pod = (annotation?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'shop',
    ...(annotation === undefined ? {} : { annotations: { [annotations.doNotDisrupt]: annotation } }),
  },
  spec: { nodeName: 'node-a', containers: [] },
  status: { startTime: iso(now - 60_000) },
});

const claim = (initializedAt: number): NodeClaim => {
  const lastTransitionTime = iso(initializedAt);
  return nodeClaim('a', {
    labels: { [labels.nodePool]: 'default' },
    status: { conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime }] },
  } as never);
};

const pool = (disruption: object = {}): NodePool =>
  nodePool('default', { disruption: { consolidateAfter: '30s', ...disruption } });

const objects = { pods: [pod()], nodeClaims: [claim(now - hour)], nodePools: [pool()] };
const input = (of: Partial<ConsolidationInput['objects']> = {}): ConsolidationInput => ({
  objects: { ...objects, ...of },
  catalogues: new Map(),
  settings: { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', wellKnownLabels: [], listedTypes: 60 },
  now,
  consolidatableBy: now + 30_000,
  kept: new Map([['node-a', 'paused']]),
});

describe('the result of a search', () => {
  const refused = pool();
  refused.metadata.annotations = { [annotations.refusals]: '{}' };
  const spec = { maintenanceWindows: [{ schedule: '@daily', duration: '1h' }] };
  test.each<[string, Partial<ConsolidationInput['objects']>]>([
    ['a node becomes consolidatable', { nodeClaims: [claim(now - 29_000)] }],
    ['the protection of a pod ends', { pods: [pod('1h')] }],
    [
      'a budget has a schedule',
      { nodePools: [pool({ budgets: [{ nodes: '0', schedule: '@daily', duration: '1h' }] })] },
    ],
    ['a policy has windows', { disruptionPolicies: [{ metadata: { name: 'nightly' }, spec }] as never }],
    ['a NodePool rests', { nodePools: [refused] }],
  ])('may change with time alone where %s', (_, of) => {
    expect(isTimeless(input(of))).toBe(false);
  });

  test.each<[string, Partial<ConsolidationInput['objects']>]>([
    ['no pod is protected any more', { pods: [pod('30s')] }],
    ['a pod is protected for good', { pods: [pod('true')] }],
    ['consolidateAfter is Never', { nodePools: [pool({ consolidateAfter: 'Never' })] }],
  ])('stands where %s', (_, of) => {
    expect(isTimeless(input(of))).toBe(true);
  });
});
