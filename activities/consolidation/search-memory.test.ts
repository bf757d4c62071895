import { describe, expect, test } from '@jest/globals';
import { annotations, labels } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import type { Consolidation, ConsolidationInput } from '../../disruption/consolidation/types.js';
import { nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { SearchMemory, isSame } from './search-memory.js';
import fc from 'fast-check';

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

describe('remembered answers of a search', () => {
  const known = (asked: ConsolidationInput, then: ConsolidationInput, found = answer): Consolidation | undefined => {
    const memory = new SearchMemory();
    memory.note(asked, found);
    return memory.find(then);
  };

  test('are used for the same input at any later time', () => {
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
  ])('are not used after %s', (_, then) => {
    expect(known(input(), then)).toBeUndefined();
  });

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
  ])('are not remembered where %s', (_, of) => {
    const asked = input(of);
    expect(known(asked, later(asked))).toBeUndefined();
  });

  test.each<[string, Partial<ConsolidationInput['objects']>]>([
    ['no pod is protected any more', { pods: [pod('30s')] }],
    ['a pod is protected for good', { pods: [pod('true')] }],
    ['consolidateAfter is Never', { nodePools: [pool({ consolidateAfter: 'Never' })] }],
  ])('are remembered where %s', (_, of) => {
    const asked = input(of);
    expect(known(asked, later(asked))).toBe(answer);
  });

  test('are not remembered for a search that was cut short, or that left objects out', () => {
    expect(known(input(), later(input()), { ...answer, cutShort: true })).toBeUndefined();
    expect(known(input(), later(input()), { ...answer, setAside: [] })).toBeUndefined();
  });
});

const anything = fc.anything({ withMap: true, withSet: true, maxDepth: 3 });

test('sameness of inputs: a copy is the same', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => isSame(value, structuredClone(value))));
  expect(isSame(new Map([['a', [1]]]), new Map([['a', [1]]]))).toBe(true);
  expect(isSame(new Set(['a']), new Set(['a']))).toBe(true);
});

test('sameness of inputs is symmetric', () => {
  fc.assert(fc.property(anything, anything, (a, b) => isSame(a, b) === isSame(b, a)));
});

test.each<[unknown, unknown]>([
  [1, '1'],
  [null, undefined],
  [{}, []],
  [{}, new Map()],
  [new Map(), new Set()],
  [[], new Set()],
  [
    [1, 2],
    [2, 1],
  ],
  [{ a: undefined }, {}],
  [{ a: undefined }, { b: undefined }],
  [{ a: { b: 1 } }, { a: { b: 2 } }],
  [new Set(['a']), new Set(['b'])],
  [new Map([['a', 1]]), new Map([['a', 2]])],
  [new Map([['a', 1]]), new Map([['b', 1]])],
])('sameness of inputs: %o differs from %o', (a, b) => {
  expect(isSame(a, b)).toBe(false);
});
