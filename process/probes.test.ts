import { describe, expect, test } from '@jest/globals';
import { createManualClock } from '../test/builders/manual-clock.js';
import { lists, problemOf, ProcessProgress, readyChecks } from './probes.js';

type Looked = Parameters<typeof readyChecks>[0];

const synced = {
  cache: { synced: true, unsynced: [], connected: true },
  karpenter: { waitsFor: undefined },
  name: { waitsFor: undefined },
  identity: 'pod-1',
} as unknown as Looked;

function running(): ProcessProgress {
  const progress = new ProcessProgress(createManualClock());
  progress.temporal = true;
  progress.leader = 'pod-2';
  progress.runs('control');
  progress.runs('urgent');
  return progress;
}

const problem = (
  world: object,
  progress: ProcessProgress,
  role: 'all' | 'operator' | 'worker' = 'all',
): string | undefined => problemOf(readyChecks({ ...synced, ...world }, role, progress, 2));

// Rule `settings/probes`.
describe('readiness', () => {
  test('a standby replica is ready', () => {
    expect(problem({}, running())).toBeUndefined();
  });

  test.each([
    ['the cache', { cache: { synced: false, unsynced: ['Pod'], connected: true } }, 'still lists Pod'],
    ['the API server', { cache: { synced: true, unsynced: [], connected: false } }, 'API server is unreachable'],
    ['Karpenter', { karpenter: { waitsFor: 'Karpenter is running' } }, 'Karpenter is running'],
    ["the cluster's name", { name: { waitsFor: 'is used by another cluster' } }, 'is used by another cluster'],
  ])('a replica is not ready where %s is not', (_, world, text) => {
    expect(problem(world, running())).toContain(text);
  });

  test('a process is not ready while Temporal does not answer', () => {
    const progress = running();
    progress.temporal = false;

    expect(problem({}, progress)).toBe('Temporal is not connected');
  });

  test('says that Temporal is too old, which does not count as connected', () => {
    const progress = running();
    progress.engineProblem = 'Temporal is version 1.24.2: 1.25.0 or newer is needed';

    expect(problem({}, progress)).toBe('Temporal is version 1.24.2: 1.25.0 or newer is needed');
  });

  test('an operator is not ready while no leader is known; a worker is', () => {
    const progress = running();
    progress.leader = undefined;

    expect(problem({}, progress)).toBe('no leader is known');
    expect(problem({}, progress, 'worker')).toBeUndefined();
  });

  test('a worker is not ready while its workers do not run; an operator is', () => {
    const progress = running();
    progress.fails('urgent');

    expect(problem({}, progress)).toBe('the workers have not started');
    expect(problem({}, progress, 'operator')).toBeUndefined();
  });

  test('readyz lists each check with its reason', () => {
    const progress = running();
    progress.temporal = false;

    expect(lists(readyChecks(synced, 'operator', progress, 2)).split('\n')).toEqual(
      expect.arrayContaining([
        '[+]cache ok',
        '[-]temporal failed: Temporal is not connected',
        '[+]leadership pod-2 leads',
      ]),
    );
  });
});

describe('liveness', () => {
  const started = (): { clock: ReturnType<typeof createManualClock>; progress: ProcessProgress } => {
    const clock = createManualClock();
    const progress = new ProcessProgress(clock);
    progress.temporal = true;
    return { clock, progress };
  };

  test('a process is alive while Temporal and the API server are unreachable', async () => {
    const { clock, progress } = started();
    progress.temporal = false;
    progress.fails('control');
    await clock.advance(10 * 60_000);

    expect(problemOf(progress.alive())).toBeUndefined();
  });

  test('a process whose event loop hangs is not alive', async () => {
    const { clock, progress } = started();
    progress.beat();
    await clock.advance(61_000);

    expect(problemOf(progress.alive())).toContain('has not run for 61 seconds');
    progress.beat();
    expect(problemOf(progress.alive())).toBeUndefined();
  });

  test('a process whose workers keep failing while Temporal answers is not alive', async () => {
    const { clock, progress } = started();
    progress.fails('control');
    await clock.advance(5 * 60_000 + 1000);

    expect(problemOf(progress.alive())).toContain('the worker of queue control has failed for 301 seconds');
    progress.runs('control');
    expect(problemOf(progress.alive())).toBeUndefined();
  });
});
