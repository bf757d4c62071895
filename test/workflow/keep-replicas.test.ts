import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { CreateClaimsInput } from '../../activities/provisioning/contract.js';
import type { ReplicasView } from '../../activities/static-capacity/contract.js';
import { workflowIds } from '../../core/ids.js';
import { explainQuery, holdUpdate, phaseQuery, replicasChangedSignal } from '../../workflows/messages.js';
import { activityNames, claimPlan, FakeActivities } from './fake-activities.js';
import { cluster, lengthen, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const ann = { actor: 'ann', reason: 'release day' };

/** The claims of one static pool as the API server would have them. */
class Pool {
  replicas = 0;
  /** Names of claims that are there, by UID. */
  readonly claims = new Map<string, string>();
  gone = false;
  most = 0;

  view(deleting: readonly string[]): ReplicasView {
    if (this.gone) return { state: 'gone', why: 'the NodePool is gone' };
    const there = [...this.claims.keys()].filter((uid) => deleting.includes(uid));
    const running = [...this.claims].filter(([uid]) => !deleting.includes(uid));
    const missing = Math.max(0, this.replicas - running.length);
    return {
      state: 'live',
      replicas: this.replicas,
      running: running.length,
      pending: 0,
      deleting: there,
      create: Array.from({ length: missing }, () => claimPlan(0)),
      typeLists: [['m5.large']],
      remove: running.slice(this.replicas).map(([uid, name]) => ({ name, uid })),
    };
  }

  create({ planId, claims }: CreateClaimsInput): ReturnType<FakeActivities['createClaims']> {
    const created = claims.map((_, index) => {
      const name = `static-${planId.split('/').slice(-1).join('')}-${index}`;
      const uid = `${planId}/${index}`.replaceAll('/', '-');
      this.claims.set(uid, name);
      return { name, uid, nodePool: 'static', resourceVersion: '1', index };
    });
    this.most = Math.max(this.most, this.claims.size);
    return Promise.resolve({ created, refused: [], resting: [] });
  }
}

// With and without a memory: workers without a cache replay the history at each step, as after a crash.
describe.each([{ forgetful: false }, { forgetful: true }])('keepReplicas of a static pool, %j', ({ forgetful }) => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let pool: Pool;
  let poolUid: string;

  beforeAll(async () => {
    rig = await startRig(activityNames, { forgetful });
  });
  afterAll(async () => rig.close());
  beforeEach(() => {
    pool = new Pool();
    activities = new FakeActivities();
    activities.replicas = (deleting) => pool.view(deleting);
    activities.createClaims = (input) => pool.create(input);
    activities.finishTermination = (({ claim }: { claim: { uid: string } }) => {
      pool.claims.delete(claim.uid);
      return Promise.resolve();
    }) as FakeActivities['finishTermination'];
    rig.use(activities.noting());
    poolUid = `pool-${activities.serial}`;
  });
  afterEach(async () => rig.finish());

  const start = (): Promise<WorkflowHandle> =>
    rig.start('keepReplicas', workflowIds.replicas(cluster, poolUid), { cluster, nodePool: 'static', poolUid });
  const scale = async (handle: WorkflowHandle, replicas: number): Promise<void> => {
    pool.replicas = replicas;
    await handle.signal(replicasChangedSignal);
  };
  const settledAt = async (count: number): Promise<void> => {
    await rig.sleep('5 seconds');
    await rig.until(() => pool.claims.size === count);
  };
  const goneWith = async (handle: WorkflowHandle): Promise<unknown> => {
    pool.gone = true;
    await handle.signal(replicasChangedSignal);
    return handle.result();
  };

  test('scaled from none to three to one it launches missing claims and terminates surplus ones, and ends with its pool', async () => {
    const handle = await start();
    await scale(handle, 3);
    await settledAt(3);
    await rig.until(() => activities.callsOf('launchInstance').length === 3);
    if (forgetful) await rig.replaceWorkers();

    await scale(handle, 1);
    await settledAt(1);
    expect(activities.callsOf('createClaims')).toHaveLength(1);
    expect(activities.callsOf('launchInstance')).toHaveLength(3);
    const terminations = activities.inputsOf<{ reason: string; deleteClaim: boolean }>('beginTermination');
    expect(terminations.map(({ reason, deleteClaim }) => [reason, deleteClaim])).toEqual([
      ['scaled_down', true],
      ['scaled_down', true],
    ]);

    expect(await goneWith(handle)).toEqual({ outcome: 'gone', reason: 'the NodePool is gone' });
    expect(pool.most).toBe(3);
  });

  test('claims that drain are terminated once and not counted as replicas', async () => {
    const handle = await start();
    await scale(handle, 2);
    await settledAt(2);
    activities.stuck = true;

    await scale(handle, 1);
    await rig.sleep('30 seconds');
    await scale(handle, 2);
    await rig.sleep('30 seconds');

    await rig.until(() => pool.claims.size === 3);
    expect(activities.callsOf('beginTermination')).toHaveLength(1);
    activities.stuck = false;
    await rig.sleep('2 minutes');
    await rig.until(() => pool.claims.size === 2);
    await goneWith(handle);
  });

  test('a creation whose answer was lost is repeated under the same claim names', async () => {
    let lost = 1;
    activities.createClaims = async (input) => {
      const created = await pool.create(input);
      if (lost-- > 0) throw new Error('the connection broke after the effect');
      return created;
    };
    const handle = await start();

    await scale(handle, 2);
    await settledAt(2);

    const plans = activities.inputsOf<CreateClaimsInput>('createClaims').map(({ planId }) => planId);
    expect(plans).toHaveLength(2);
    expect(new Set(plans).size).toBe(1);
    expect(activities.callsOf('launchInstance')).toHaveLength(2);
    await goneWith(handle);
  });

  test('failing launches are retried at growing intervals', async () => {
    activities.refusal = { reason: 'insufficient_capacity', message: 'none left' };
    activities.failClaim = (input) => {
      pool.claims.delete(input.claim.uid);
      return Promise.resolve();
    };
    const handle = await start();
    await scale(handle, 1);

    await rig.sleep('10 minutes');

    const attempts = activities.callsOf('createClaims').length;
    expect(attempts).toBeGreaterThan(4);
    expect(attempts).toBeLessThan(12);
    activities.refusal = undefined;
    await rig.sleep('10 minutes');
    await rig.until(() => pool.claims.size === 1);
    await goneWith(handle);
  });

  test('a claim that the API server refuses is reported until it is created or no longer wanted', async () => {
    let refuses = true;
    activities.createClaims = (input) =>
      refuses
        ? Promise.resolve({ created: [], refused: [{ index: 0, reason: 'a webhook says no' }], resting: [] } as never)
        : pool.create(input);
    const notCreated = async (handle: WorkflowHandle): Promise<unknown> =>
      (await handle.query(explainQuery)).facts['not created'];
    const handle = await start();
    await scale(handle, 1);
    await rig.until(async () => (await notCreated(handle)) === 'a webhook says no');

    await scale(handle, 0);
    await rig.until(async () => (await notCreated(handle)) === undefined);
    await scale(handle, 1);
    await rig.until(async () => (await notCreated(handle)) === 'a webhook says no');
    refuses = false;
    await handle.signal(replicasChangedSignal);
    await settledAt(1);
    expect(await notCreated(handle)).toBeUndefined();
    await goneWith(handle);
  });

  test('held by a person it neither creates nor terminates claims until it is released', async () => {
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'keeping');
    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] });
    await scale(handle, 2);
    await rig.sleep('1 hour');
    expect(await handle.query(explainQuery)).toMatchObject({ phase: 'held' });
    expect(pool.claims.size).toBe(0);

    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: false }] });

    await settledAt(2);
    await goneWith(handle);
  });

  test('a hold by a person lasts over continue-as-new', async () => {
    const handle = await start();
    await rig.until(async () => (await handle.query(phaseQuery)) === 'keeping');
    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: true }] });
    pool.replicas = 1;

    await lengthen(rig, handle, replicasChangedSignal, 6000);
    await rig.until(async () => (await handle.query(phaseQuery)) === 'held');
    expect(pool.claims.size).toBe(0);

    await handle.executeUpdate(holdUpdate, { args: [{ ...ann, on: false }] });
    await rig.until(() => pool.claims.size === 1);
  });
});
