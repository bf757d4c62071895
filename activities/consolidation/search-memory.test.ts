import { describe, expect, test } from 'vitest';
import { annotations, labels } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { Consolidation, ConsolidationInput } from '../../disruption/consolidation/types.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { SearchMemory } from './search-memory.js';

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
const later = (before: ConsolidationInput, ms = hour): ConsolidationInput => ({
  ...before,
  now: before.now + ms,
  consolidatableBy: now + 30_000 + ms,
});
const answer = { commands: [] } as unknown as Consolidation;

describe('what a search answered', () => {
  const known = (asked: ConsolidationInput, then: ConsolidationInput, found = answer): Consolidation | undefined => {
    const memory = new SearchMemory();
    memory.note(asked, found);
    return memory.find(then);
  };

  test('holds for the same input at any later time', () => {
    expect(known(input(), later(input()))).toBe(answer);
    const answered = new SearchMemory();
    answered.note(input(), answer);
    answered.note({ ...input(), nominated: new Set(['node-a']) }, { ...answer });
    expect(answered.find(later(input()))).toBe(answer);
  });

  test.each<[string, ConsolidationInput]>([
    ['an earlier time', later(input(), -1)],
    ['another pod', later(input({ pods: [pod(), pod()] }))],
    ['another claim', later(input({ nodeClaims: [claim(now - hour - 1)] }))],
    ['a node that is kept for another reason', { ...later(input()), kept: new Map([['node-a', 'refused']]) }],
    ['another catalogue', { ...later(input()), catalogues: new Map([['default', []]]) }],
  ])('does not hold for %s', (_, then) => {
    expect(known(input(), then)).toBeUndefined();
  });

  const refused = pool();
  refused.metadata.annotations = { [annotations.claimsRefused]: '{}' };
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
  ])('is not kept where %s', (_, of) => {
    const asked = input(of);
    expect(known(asked, later(asked))).toBeUndefined();
  });

  test.each<[string, Partial<ConsolidationInput['objects']>]>([
    ['no pod is protected any more', { pods: [pod('30s')] }],
    ['a pod is protected for good', { pods: [pod('true')] }],
    ['consolidateAfter is Never', { nodePools: [pool({ consolidateAfter: 'Never' })] }],
  ])('is kept where %s', (_, of) => {
    const asked = input(of);
    expect(known(asked, later(asked))).toBe(answer);
  });

  test('is not kept of a search that was cut short, or that left objects out', () => {
    expect(known(input(), later(input()), { ...answer, cutShort: true })).toBeUndefined();
    expect(known(input(), later(input()), { ...answer, setAside: [] })).toBeUndefined();
  });
});
