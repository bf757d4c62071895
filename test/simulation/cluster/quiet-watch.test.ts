import { beforeEach, describe, expect, test } from '@jest/globals';
import { QuietWatch } from './quiet-watch.js';

describe("the simulation's watch of a cluster in which nothing happens", () => {
  let problems: string[];
  let quiet: QuietWatch;

  beforeEach(() => {
    problems = [];
    quiet = new QuietWatch((problem) => problems.push(problem));
  });

  test('lists writes and warnings by frequency, without those from before it began', () => {
    quiet.note('Kubernetes: patch Node before');
    quiet.begin();
    quiet.log.warn({ name: 'a' }, 'looking failed');
    quiet.note('Kubernetes: patch Node a');
    quiet.note('Kubernetes: patch Node a');
    quiet.log.info({}, 'nothing of note');
    expect([...quiet.heard()]).toEqual([
      'nothing happens, and yet, 2 times: Kubernetes: patch Node a',
      'nothing happens, and yet, 1 times: looking failed {"name":"a"}',
    ]);
    expect(problems).toEqual([]);
  });

  test('reports a programming error at once, in a log line of any level or a failed activity', () => {
    quiet.log.debug({ error: "TypeError: Cannot read properties of undefined (reading 'x')" }, 'could not look');
    quiet.noteFailure('planNodes of c/provision failed: pods is not iterable');
    quiet.noteFailure('planNodes of c/provision failed: the call failed');
    expect(problems).toEqual([
      expect.stringContaining('could not look'),
      expect.stringContaining('planNodes of c/provision'),
    ]);
  });
});
