import { expect, test } from '@jest/globals';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { policyProblems } from './policy-problems.js';

const now = Date.parse('2026-01-05T00:00:00Z');
const window = { name: 'nights', schedule: '0 22 * * *', duration: '2h' };
const pool = (budgets: readonly object[]): NodePool =>
  nodePools.mustParse(build('NodePool', { 'spec.disruption.budgets': budgets, 'metadata.name': 'p' }));
const problems = (patch: Patch, budgets: readonly object[] = [{ nodes: '10%' }]): readonly string[] =>
  policyProblems(disruptionPolicies.mustParse(build('DisruptionPolicy', patch)), [pool(budgets)], now);
const days = { nodes: '0', schedule: '0 22 * * *', duration: '3h' };

test.each<[string, Patch, readonly object[] | undefined, RegExp | undefined]>([
  ['a good one', { 'spec.maintenanceWindows': [window] }, undefined, undefined],
  [
    'a bad schedule',
    { 'spec.maintenanceWindows': [{ ...window, schedule: '0 25 * * *' }] },
    undefined,
    /\[0\]\.schedule: .*hour/,
  ],
  [
    'an unknown zone',
    { 'spec.maintenanceWindows': [{ ...window, timeZone: 'Mars/Olympus' }] },
    undefined,
    /\[0\]\.timeZone: .*Mars\/Olympus/,
  ],
  [
    'a window that never opens',
    { 'spec.maintenanceWindows': [window, { ...window, name: 'b', schedule: '0 0 30 2 *' }] },
    undefined,
    /^spec\.maintenanceWindows\[1\]\.schedule: the window never opens \(found "0 0 30 2 \*"\)/,
  ],
  [
    'a canary above the largest wave',
    { 'spec.driftRollout': { canary: '30%' } },
    undefined,
    /^spec\.driftRollout\.canary: /,
  ],
  ['a canary of another unit', { 'spec.driftRollout': { canary: '3' } }, undefined, undefined],
  [
    'a budget that is closed whenever the window is open',
    { 'spec.maintenanceWindows': [window] },
    [days],
    /^spec\.maintenanceWindows: .* NodePool p let a node go for Underutilized, Empty, Drifted, Expired, allowed/,
  ],
  [
    'such a budget for one reason',
    { 'spec.maintenanceWindows': [window] },
    [{ ...days, reasons: ['Empty'] }],
    /go for Empty,/,
  ],
  [
    'a window of another reason',
    { 'spec.maintenanceWindows': [{ ...window, reasons: ['Drifted'] }] },
    [days],
    /go for Drifted,/,
  ],
  ['a pool that is frozen on purpose', { 'spec.maintenanceWindows': [window] }, [{ nodes: '0' }], undefined],
])('%s', (_name, patch, budgets, expected) => {
  const found = problems(patch, budgets);

  expect(found).toHaveLength(expected === undefined ? 0 : 1);
  if (expected !== undefined) expect(found[0]).toMatch(expected);
});
