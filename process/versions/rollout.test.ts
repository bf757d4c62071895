import { beforeEach, describe, expect, test } from 'vitest';
import { createManualClock } from '../../test/builders/manual-clock.js';
import type { ManualClock } from '../../test/builders/manual-clock.js';
import type { Deployment, DeploymentState } from './deployment.js';
import { Rollout } from './rollout.js';

/** Temporal's record of the builds, as one server keeps it for all processes of a cluster. */
class FakeDeployment implements Deployment {
  found: DeploymentState | undefined | 'unsupported' = { draining: [] };
  /** Why a build cannot be made current. */
  refusal: string | undefined;
  readonly open = new Map<string, number>();
  readonly polled = new Map<string, number>();
  readonly unpinned: string[] = [];

  state(): ReturnType<Deployment['state']> {
    return Promise.resolve(this.found);
  }

  makeCurrent(buildId: string | undefined): Promise<void> {
    if (this.refusal !== undefined) return Promise.reject(new Error(this.refusal));
    const before = this.found as DeploymentState;
    const draining = [...before.draining, before.current].filter((each) => each !== undefined && each !== buildId);
    this.found = { ...(buildId === undefined ? {} : { current: buildId }), draining: draining as string[] };
    return Promise.resolve();
  }

  pinned(buildId: string): Promise<number> {
    return Promise.resolve(this.open.get(buildId) ?? 0);
  }

  unpin(buildId: string): Promise<number> {
    this.unpinned.push(buildId);
    return Promise.resolve(this.open.get(buildId) ?? 0);
  }

  polledAt(buildId: string): Promise<number | undefined> {
    return Promise.resolve(this.polled.get(buildId));
  }
}

// Rule `settings/worker-versions`.
describe('the rollout of a build', () => {
  let clock: ManualClock;
  let deployment: FakeDeployment;
  let said: string[];
  let ending: AbortController;

  beforeEach(() => {
    clock = createManualClock();
    deployment = new FakeDeployment();
    said = [];
    ending = new AbortController();
  });

  function rolloutOf(buildId: string | undefined): Rollout {
    const say = (_: object, text: string): void => void said.push(text);
    return new Rollout({ deployment, buildId, clock, log: { debug: say, info: say, warn: say, error: say } });
  }

  async function come(buildId: string | undefined): Promise<Rollout> {
    const rollout = rolloutOf(buildId);
    void rollout.follow(ending.signal);
    await clock.settle();
    return rollout;
  }

  const current = (): string | undefined => (deployment.found as DeploymentState).current;

  test('the build that comes up last is current, also where that is an older one again', async () => {
    await come('a');
    await come('b');
    expect(current()).toBe('b');

    await come('a');
    expect(current()).toBe('a');
  });

  test('it is retried until its workers poll, and other builds may not end before', async () => {
    deployment.refusal = 'task queues are missing';
    const rollout = await come('a');
    await clock.advance(5000);
    expect([current(), rollout.waitsFor]).toEqual([undefined, 'its build is not current yet']);

    deployment.refusal = undefined;
    await clock.advance(1000);
    expect([current(), rollout.waitsFor]).toEqual(['a', undefined]);
    expect(said.filter((text) => text.includes('cannot be made current yet'))).toHaveLength(1);
  });

  test('nothing is made current before Temporal knows of the workers', async () => {
    deployment.found = undefined;
    const rollout = await come('a');
    expect(rollout.waitsFor).toBeDefined();

    deployment.found = { draining: [] };
    await clock.advance(1000);
    expect(current()).toBe('a');
  });

  test('workers without a version are current where versioning is turned off again, and where the server has none', async () => {
    deployment.found = { current: 'a', draining: [] };
    await come(undefined);
    expect(current()).toBeUndefined();
    expect(deployment.unpinned).toEqual(['a']);

    deployment.found = 'unsupported';
    expect((await come(undefined)).waitsFor).toBeUndefined();
  });

  test('a build that is told to end while another is current waits for what is pinned to it', async () => {
    const old = await come('a');
    await come('b');
    deployment.open.set('a', 2);
    let ended = false;
    void old.drained(300_000).then(() => void (ended = true));
    await clock.advance(60_000);
    expect(ended).toBe(false);

    deployment.open.set('a', 0);
    await clock.advance(6000);
    expect(ended).toBe(true);
  });

  test('what is left after that goes on in the current build', async () => {
    const old = await come('a');
    deployment.polled.set('a', clock.now());
    await come('b');
    deployment.open.set('a', 1);
    const drained = old.drained(30_000);
    await clock.advance(32_000);
    await drained;
    expect(deployment.unpinned).toEqual(['a']);
    expect(said).toContain('workflows of a build that ends go on in the current one');
  });

  test('one that is current ends at once', async () => {
    const own = await come('a');
    deployment.open.set('a', 1);
    await own.drained(300_000);
    expect(deployment.unpinned).toEqual([]);
  });

  test('what is pinned to a build whose workers are gone goes on in the current one, and nothing of one that has workers', async () => {
    deployment.found = { current: 'b', draining: ['gone', 'dead', 'alive'] };
    deployment.polled.set('dead', clock.now() - 121_000);
    deployment.polled.set('alive', clock.now() - 30_000);

    await come('b');

    expect(deployment.unpinned).toEqual(['gone', 'dead']);
  });
});
