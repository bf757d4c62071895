import { expect, test } from 'vitest';
import type { CandidateRef, RunningDisruption, TaintOwner } from '../messages.js';
import { withAdopted, withoutAdopted } from './adoption.js';

const node = (name: string): CandidateRef => ({
  claim: { name, uid: `uid-${name}` },
  node: `node-${name}`,
  nodePool: 'p',
});
const owner = (workflowId: string, ...names: string[]): TaintOwner => ({
  ...{ workflowId, reason: 'Drifted', candidates: names.map(node) },
});
const started: RunningDisruption = {
  workflowId: 'c/consolidate/a',
  reason: 'Empty',
  candidates: [node('a')],
  since: 1,
};
const told = (running: readonly RunningDisruption[]): unknown =>
  running.map(({ workflowId, since, candidates }) => [workflowId, since, ...candidates.map((one) => one.node)]);

test('owners of taints that nobody knows are adopted, and dropped once they are found no more', () => {
  const first = withAdopted([started], [owner('c/consolidate/b', 'b')], { asking: [], now: 5 });
  expect(told(first)).toEqual([
    ['c/consolidate/a', 1, 'node-a'],
    ['c/consolidate/b', 5, 'node-b'],
  ]);
  const second = withAdopted(first, [owner('c/consolidate/b', 'b', 'c')], { asking: [], now: 9 });
  expect(told(second)).toEqual([
    ['c/consolidate/a', 1, 'node-a'],
    ['c/consolidate/b', 5, 'node-b', 'node-c'],
  ]);
  expect(withAdopted(second, [], { asking: [], now: 9 })).toEqual([started]);
});

test('what is known already, and whoever asks for slots itself, is not adopted besides', () => {
  const found = [owner('c/replace/a', 'a'), owner('c/expire/uid-b', 'b'), owner('c/replace/uid-d', 'd')];
  const asking = ['c/expire/uid-b', 'c/drift/pool/hash'];
  expect(withAdopted([started], found, { asking, now: 5 })).toEqual([started]);
});

test('whoever asks, or gives back, answers for itself from then on', () => {
  const running = withAdopted([started], [owner('c/replace/uid-d', 'd'), owner('c/expire/uid-b', 'b')], {
    ...{ asking: [], now: 5 },
  });
  expect(told(withoutAdopted(running, 'c/drift/pool/hash'))).toEqual([
    ['c/consolidate/a', 1, 'node-a'],
    ['c/expire/uid-b', 5, 'node-b'],
  ]);
  expect(withoutAdopted(running, 'c/consolidate/a')).toEqual(running);
});
