import { expect, test } from '@jest/globals';
import type { DrainBlocker } from '../../activities/termination/contract.js';
import { endedBy } from './drain-text.js';

const blocker = (cause: DrainBlocker['cause'], name: string): DrainBlocker => ({
  ...{ cause, name, why: 'stands there', pods: ['shop/web-1'], podCount: 1 },
});
const you = '; you, overriding it: stowage expedite node-1 --force';

test.each<[string, readonly DrainBlocker[], string | undefined]>([
  [
    'do-not-disrupt',
    [blocker('do-not-disrupt', 'pod/shop/web-1 (do-not-disrupt)')],
    `the owner of the pod: kubectl -n shop annotate pod web-1 karpenter.sh/do-not-disrupt- (or deletes it)${you}`,
  ],
  [
    'a PodDisruptionBudget that never allows an eviction',
    [blocker('pdb-never', 'pdb/shop/web (never)'), blocker('do-not-disrupt', 'pod/shop/web-2 (do-not-disrupt)')],
    `the owner of the PodDisruptionBudget: kubectl -n shop edit pdb web (or deletes the pod)${you}`,
  ],
  [
    'several of them',
    [blocker('several-pdbs', 'pdb/shop/web+all (several)')],
    `the owner of the PodDisruptionBudgets, of which only one may select the pod: kubectl -n shop edit pdb web all${you}`,
  ],
  ['what may pass by itself', [blocker('pdb-never', 'pdb/shop/web (never)'), blocker('pdb', 'pdb/shop/db')], undefined],
  ['nothing', [], undefined],
])('the text of a drain that needs a person says who can end it: %s', (_, blockers, expected) => {
  expect(endedBy(blockers, 'node-1')).toBe(expected);
});
