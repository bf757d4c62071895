import { beforeEach, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { workflowIds } from '../../../core/ids.js';
import { clusterName } from './process.js';
import { ReasonWatch } from './reason-watch.js';

let workflows: Set<string>;
let problems: string[];
let watch: ReasonWatch;

beforeEach(() => {
  workflows = new Set([workflowIds.terminate(clusterName, 'uid')]);
  problems = [];
  watch = new ReasonWatch(
    (workflowId) => workflows.has(workflowId),
    (problem) => problems.push(problem),
  );
});

const deletionTimestamp = '2026-01-05T12:00:00Z';
const claim = (finalizers: readonly string[], providerID: string | undefined = 'fake:///i'): NodeClaim =>
  ({ metadata: { name: 'c', uid: 'uid', finalizers, deletionTimestamp }, status: { providerID } }) as NodeClaim;
const own = 'karpenter.sh/termination';
const unrecorded = [expect.stringContaining('nothing says why NodeClaim c is gone')];

test('a removed NodeClaim whose reason no workflow records is reported', () => {
  workflows.clear();
  watch.note(claim([own]), true);
  expect(problems).toEqual(unrecorded);
});

test("a NodeClaim that keeps another controller's finalizer needs a recorded reason once Stowage removes its finalizer", () => {
  workflows.clear();
  watch.note(claim(['example.com/other']), false);
  expect(problems).toEqual(unrecorded);
});

test("the reason of a NodeClaim may be lost while another controller's finalizer keeps it", () => {
  watch.note(claim([own, 'example.com/other']), false);
  watch.note(claim(['example.com/other']), false);
  workflows.clear();
  watch.note(claim([]), true);
  expect(problems).toEqual([]);
});

test.each<[string, () => void, NodeClaim]>([
  ['had no instance', () => undefined, claim([], '')],
  ['is removed while reasons may be missing', () => watch.forget(), claim([])],
  ['was removed by another client', () => watch.excuse('uid'), claim([])],
])('a NodeClaim that %s needs no recorded reason', (_, prepare, each) => {
  workflows.clear();
  prepare();
  watch.note(each, true);
  expect(problems).toEqual([]);
});
