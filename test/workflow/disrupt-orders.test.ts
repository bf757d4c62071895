import type { temporal } from '@temporalio/proto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  clusterChangedSignal,
  explainQuery,
  findingsQuery,
  pauseSignal,
  pauseUpdate,
  resumeUpdate,
  runningQuery,
  reconsiderSignal,
  taskQueues,
  whyNotUpdate,
} from '../../workflows/messages.js';
import type { Candidate, CandidateRef, PauseOrder } from '../../workflows/messages.js';
import { startDisrupt, startProvision } from './entities.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { refusalOf } from './fixtures.js';
import { cluster, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const ann = { actor: 'ann', reason: 'release day' };

describe('disrupt: orders and its memory', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let nodes: CandidateRef[];

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    nodes = ['a', 'b'].map((name) => ({
      claim: { name, uid: `uid-${name}-${activities.serial}` },
      node: `node-${name}`,
      nodePool: 'default',
    }));
    await startProvision(rig);
  });
  afterEach(async () => rig.finish());

  const start = async (): Promise<WorkflowHandle> => startDisrupt(rig);
  const running = async (handle: WorkflowHandle): Promise<string[]> =>
    (await handle.query(runningQuery)).flatMap(({ candidates }) => candidates.map(({ node }) => node));

  test('orders to pause and to resume that make no sense are refused with a reason', async () => {
    const handle = await start();
    const pause = async (order: Partial<PauseOrder>): Promise<unknown> =>
      handle.executeUpdate(pauseUpdate, { args: [{ scope: { kind: 'cluster' }, ...ann, ...order }] });
    expect(await refusalOf(pause({ scope: { kind: 'region' as never } }))).toBe('UnknownScope');
    expect(await refusalOf(pause({ scope: { kind: 'reason', name: 'Boredom' } }))).toBe('UnknownScope');
    expect(await refusalOf(pause({ scope: { kind: 'node' } }))).toBe('UnknownScope');
    expect(await refusalOf(pause({ ttl: 'a while' }))).toBe('InvalidOrder');
    expect(await refusalOf(pause({ actor: '' }))).toBe('InvalidOrder');
    expect(await refusalOf(pause({ until: 1e300 }))).toBe('InvalidOrder');
    expect(await refusalOf(pause({ until: '2026-01-01' as never }))).toBe('InvalidOrder');
    expect(await refusalOf(pause({ reason: 'x'.repeat(501) }))).toBe('InvalidOrder');
    expect(await refusalOf(pause({ scope: { kind: 'node', name: 'n'.repeat(254) } }))).toBe('UnknownScope');
    const resume = handle.executeUpdate(resumeUpdate, { args: [{ scope: { kind: 'cluster' }, ...ann }] });
    expect(await refusalOf(resume)).toBe('NotPaused');
    expect(await refusalOf(pause({ scope: { kind: 'nodePool', name: 'nowhere' } }))).toBe('UnknownScope');
    // The Temporal UI says what may be sent.
    const { definition } = await handle.query<temporal.api.sdk.v1.IWorkflowMetadata>('__temporal_workflow_metadata');
    for (const { name, description } of definition?.updateDefinitions ?? [])
      expect([name, description]).toEqual([name, expect.stringContaining(name === 'whyNot' ? 'node-1' : 'actor')]);
    expect(definition?.updateDefinitions).toHaveLength(4);
  });

  test('invalid orders sent as signals are noted, and `disrupt` goes on', async () => {
    const handle = await start();
    await rig.until(async () => (await handle.query(runningQuery)).length === 0);
    const send = async (name: string, ...args: unknown[]): Promise<void> => handle.signal(name, ...args);
    await send('pause');
    await send('pause', { scope: { kind: 'region' }, ...ann });
    await send('pause', { scope: { kind: 'cluster' }, ...ann, ttl: 'a while' });
    await send('resume');
    await send('resume', { scope: { kind: 'cluster' }, ...ann });

    await send('pause', { scope: { kind: 'node', name: 'node-a' }, ...ann });

    await rig.until(() => activities.pauses.length > 0);
    expect(activities.pauses).toMatchObject([{ scope: { kind: 'node', name: 'node-a' } }]);
    const { facts } = await handle.query(explainQuery);
    expect(facts['last order refused']).toBe('resume: it is not paused');
  });

  // Rule `invariants/pauses-hold`.
  test("a pause signalled before the workflow's first task applies", async () => {
    const handle = await rig.client.workflow.signalWithStart('disrupt', {
      workflowId: workflowIds.disrupt(cluster),
      taskQueue: taskQueues(cluster).control,
      args: [{ cluster }],
      signal: pauseSignal,
      signalArgs: [{ scope: { kind: 'cluster' }, ...ann }],
    });
    rig.track(handle.workflowId, handle.signaledRunId);

    await rig.until(() => activities.pauses.length === 1);
  });

  // Rule `invariants/pauses-hold`.
  test.each([
    { orders: ['pause', 'resume'], left: [] },
    { orders: ['resume', 'pause'], left: ['cluster'] },
    { orders: ['pause', 'resume', 'pause'], left: ['cluster'] },
  ])('of $orders, given before its first workflow task, the last applies', async ({ orders, left }) => {
    const order = { scope: { kind: 'cluster' }, ...ann } as const;
    await rig.withoutWorker('control', async () => {
      const started = await start();
      for (const name of orders) await started.signal(name, order);
    });

    const written = () => activities.callsOf().filter((name) => name === 'writePause' || name === 'endPause').length;
    await rig.until(() => written() === orders.length);

    expect(activities.pauses.map(({ scope }) => scope.kind)).toEqual(left);
  });

  test('an update before its first workflow task is handled after earlier signals', async () => {
    const order = { scope: { kind: 'cluster' }, ...ann } as const;
    const resumed = await rig.withoutWorker('control', async () => {
      const handle = await start();
      await handle.signal(pauseSignal, order);
      return { left: handle.executeUpdate(resumeUpdate, { args: [order] }) };
    });

    await expect(resumed.left).resolves.toEqual([]);
  });

  test('a pause by update has its end; a resume is answered with what is still paused', async () => {
    const handle = await start();
    const pool = { kind: 'nodePool', name: 'default', reason: 'Underutilized' } as const;
    await handle.executeUpdate(pauseUpdate, { args: [{ scope: { kind: 'cluster' }, ...ann, ttl: '2h' }] });
    await handle.executeUpdate(pauseUpdate, { args: [{ scope: pool, ...ann }] });

    const left = await handle.executeUpdate(resumeUpdate, { args: [{ scope: pool, ...ann }] });
    expect(left.map(({ scope }) => scope.kind)).toEqual(['cluster']);
    expect(left[0]?.until).toBeDefined();
    expect(left[0]!.until! - (await rig.now())).toBeGreaterThan(119 * 60_000);
  });

  test('nodes of an abandoned command back off; a finished command remembers where its pods went', async () => {
    const candidate: Candidate = {
      ...nodes[0]!,
      instanceType: 'm5.large',
      zone: 'a',
      capacityType: 'spot',
      pricePerHour: 0.1,
    };
    activities.valid = () => [];
    activities.found = [{ commands: [{ reason: 'Underutilized', candidates: [candidate], decision: deletion }] }];
    const handle = await start();
    await rig.until(async () => (await running(handle)).length === 1);
    await rig.sleep('30 seconds');
    const memory = async (): Promise<DisruptionView['memory']> =>
      rig.until(() => activities.inputsOf<DisruptionView>('findDisruptions').at(-1)?.memory);

    const rested = await memory();
    expect(rested).toMatchObject([{ node: 'node-a', failures: 1, why: 'abandoned: churn' }]);
    expect(rested![0]!.keptUntil! - rested![0]!.at).toBe(15_000);

    activities.valid = (candidates) => candidates;
    const decision = { ...deletion, targets: [{ node: 'node-c', nodePool: 'default' }] };
    activities.found = [{ commands: [{ reason: 'Underutilized', candidates: [candidate], decision }] }];
    await handle.signal(clusterChangedSignal);
    await rig.until(async () => (await running(handle)).length === 1);
    await rig.sleep('10 minutes');
    await rig.until(() =>
      activities
        .inputsOf<DisruptionView>('findDisruptions')
        .at(-1)
        ?.memory?.some(({ node, depth }) => node === 'node-c' && depth === 1),
    );
  });

  test('answers what the last search found, and why a node stays', async () => {
    const changesAt = '2026-01-06T09:00:00.000Z';
    const shut = { nodePool: 'default', reason: 'Empty', total: 3, disrupting: 0, allowed: 0, changesAt } as const;
    const stays = [{ why: 'pod default/db is marked do-not-disrupt', nodes: ['node-x'] }];
    activities.found = [{ commands: [], details: { hash: 'h', budgets: [shut], decisions: [], stays, staysMore: 2 } }];
    const handle = await start();
    const found = await rig.until(async () => handle.query(findingsQuery));

    expect(found).toMatchObject({ decisions: [], held: [], details: { budgets: [shut], stays, staysMore: 2 } });
    expect((await handle.executeUpdate(whyNotUpdate, { args: ['node-y'] })).why).toBe('it is not empty');
  });

  test('an undecodable payload is reported as such, and delays nothing', async () => {
    const handle = await start();
    const { workflowId } = handle;
    // As the Temporal UI sends one that is said to be protobuf, and as a broken client sends JSON.
    for (const [encoding, data] of [
      ['json/protobuf', '{}'],
      ['json/plain', '{'],
    ] as const) {
      const payloads = [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }];
      for (const signalName of [pauseSignal.name, reconsiderSignal.name]) {
        await rig.client.workflowService.signalWorkflowExecution({
          namespace: rig.client.options.namespace,
          workflowExecution: { workflowId },
          signalName,
          input: { payloads },
        });
        const ignored = `${signalName}: a payload with encoding ${encoding} cannot be read`;
        await rig.until(async () => {
          const { facts } = await handle.query(explainQuery);
          return String(facts['last signal ignored']).startsWith(ignored);
        });
      }
    }
    await handle.signal(pauseSignal, { scope: { kind: 'cluster' }, ...ann });
    await rig.until(() => activities.pauses.length === 1);
  });

  // Rule `candidates/left-over-taints`.
  test('a command whose workflow ended without a signal is forgotten within minutes, in a cluster without changes', async () => {
    const commands = [{ workflowId: 'test/consolidate/x', reason: 'Empty', candidates: nodes, since: 0 }];
    const carried = { nominations: [], commands };
    const handle = await rig.start('disrupt', workflowIds.disrupt(cluster), { cluster, carried });
    await rig.until(() => activities.callsOf('findDisruptions').length > 0);
    expect(await running(handle)).toHaveLength(2);
    activities.ended.push('test/consolidate/x');

    await rig.sleep('2 minutes');

    await rig.until(async () => (await running(handle)).length === 0);
  });
});

const deletion = {
  method: 'single',
  decision: 'delete',
  replacements: [],
  typeLists: [],
  moves: [],
  podCount: 0,
  priceBefore: 0.1,
  priceAfter: 0,
  alternatives: [],
  alongside: [],
  targets: [],
} as const;
