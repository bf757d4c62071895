import type { temporal } from '@temporalio/proto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowIds } from '../../core/ids.js';
import {
  clusterChangedSignal,
  disruptionFinishedSignal,
  explainQuery,
  nextWindowQuery,
  pauseSignal,
  phaseQuery,
  pausesChangedSignal,
  pausesQuery,
  pauseUpdate,
  resumeUpdate,
  runningQuery,
  searchAttributes,
  slotRequestSignal,
  staysQuery,
  slotReturnedSignal,
  taskQueues,
  whyNotQuery,
  whyNotUpdate,
} from '../../workflows/messages.js';
import type { Candidate, CandidateRef, PauseOrder, SlotRequest } from '../../workflows/messages.js';
import { startDisrupt, startProvision } from './entities.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { candidateOf, refusalOf } from './fixtures.js';
import { cluster, lengthen, startRig, wholeRun } from './rig.js';
import type { WorkflowRig } from './rig.js';

const ann = { actor: 'ann', reason: 'release day' };

/** How often the workflow has sent a signal of this name. */
async function sent(handle: WorkflowHandle, name: string): Promise<number> {
  const { events } = await handle.fetchHistory();
  const names = events?.map((event) => event.signalExternalWorkflowExecutionInitiatedEventAttributes?.signalName);
  return names?.filter((each) => each === name).length ?? 0;
}

describe('disrupt: slots, pauses and its memory', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let requester: string;
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
    // Whoever asks is told by signals, which any running workflow takes.
    requester = workflowIds.provision(cluster);
    await startProvision(rig);
  });
  afterEach(async () => rig.finish());

  const start = async (): Promise<WorkflowHandle> => startDisrupt(rig);
  const request = (more: Partial<SlotRequest> = {}): SlotRequest => ({
    id: 'drift#1',
    workflowId: requester,
    reason: 'Drifted',
    candidates: nodes,
    ...more,
  });
  const running = async (handle: WorkflowHandle): Promise<string[]> =>
    (await handle.query(runningQuery)).flatMap(({ candidates }) => candidates.map(({ node }) => node));

  // Rule `budgets/every-disruption-asks`.
  test('a slot counts as disrupting from its grant until it is returned, and the next decision sees it', async () => {
    const handle = await start();
    await handle.signal(slotRequestSignal, request());
    await rig.until(async () => (await running(handle)).length === 2);
    await rig.until(() =>
      activities.inputsOf<DisruptionView>('findDisruptions').some((view) => view.running[0]?.slot === 'drift#1'),
    );

    await handle.signal(slotReturnedSignal, { id: 'drift#1', nodes: ['node-a'] });
    await rig.until(async () => (await running(handle)).join() === 'node-b');
    await handle.signal(slotReturnedSignal, { id: 'drift#1' });
    await rig.until(async () => (await running(handle)).length === 0);
  });

  test('nodes that budgets refuse wait for a slot, get it once when allowed, and are counted as waiting', async () => {
    activities.admits = (node) => node === 'node-a';
    const handle = await start();
    await handle.signal(slotRequestSignal, request());
    await rig.until(async () => (await running(handle)).join() === 'node-a');
    const waiting = async (): Promise<unknown> => (await handle.query(explainQuery)).facts['slots waited for'];
    await rig.until(async () => (await waiting()) === 1);

    activities.admits = () => true;
    // Asked again, as a client does now and then: the same request.
    await handle.signal(slotRequestSignal, request());
    await rig.until(async () => (await running(handle)).length === 2);

    expect((await running(handle)).sort()).toEqual(['node-a', 'node-b']);
    // Nothing is told of what waits no more.
    await rig.until(async () => (await waiting()) === undefined);
    expect(await waiting()).toBeUndefined();
  });

  test('a withdrawn request for a slot is granted nothing', async () => {
    activities.admits = () => false;
    const handle = await start();
    await handle.signal(slotRequestSignal, request());
    await rig.until(() => activities.callsOf('decideSlots').length > 0);

    activities.admits = () => true;
    await handle.signal(slotReturnedSignal, { id: 'drift#1' });
    const looks = activities.callsOf('findDisruptions').length;
    await handle.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length > looks);

    expect(await running(handle)).toEqual([]);
  });

  test('looks again at the time at which a refused slot may become allowed', async () => {
    activities.admits = () => false;
    activities.slotsCheckAt = (await rig.now()) + 120_000;
    const handle = await start();
    await handle.signal(slotRequestSignal, request());
    await rig.until(() => activities.callsOf('decideSlots').length > 0);

    activities.admits = () => true;
    // Sooner than the slow poll would look.
    await rig.sleep('3 minutes');

    await rig.until(async () => (await running(handle)).length === 2);
  });

  test('slots granted to a workflow that does not run are returned', async () => {
    const handle = await start();
    await handle.signal(slotRequestSignal, request({ workflowId: 'test/nobody' }));
    await rig.until(() => activities.callsOf('findDisruptions').length > 0);

    await rig.until(async () => (await running(handle)).length === 0);
  });

  test('invalid orders to pause and to resume are refused with a reason', async () => {
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

    const pauses = await rig.until(async () => {
      const found = await handle.query(pausesQuery);
      return found.length > 0 ? found : undefined;
    });
    expect(pauses).toMatchObject([{ scope: { kind: 'node', name: 'node-a' } }]);
    const { facts } = await handle.query(explainQuery);
    expect(facts['last order refused']).toBe('resume: the cluster is not paused; paused: nothing');
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

    await rig.until(async () => (await handle.query(pausesQuery)).length === 1);

    const { typedSearchAttributes } = await handle.describe();
    expect(typedSearchAttributes.get(searchAttributes.paused)).toBe(true);
  });

  // Rule `invariants/pauses-hold`.
  test.each([
    { orders: ['pause', 'resume'], left: [] },
    { orders: ['resume', 'pause'], left: ['cluster'] },
    { orders: ['pause', 'resume', 'pause'], left: ['cluster'] },
  ])('of $orders, given before its first workflow task, the last applies', async ({ orders, left }) => {
    const order = { scope: { kind: 'cluster' }, ...ann } as const;
    const handle = await rig.withoutWorker('control', async () => {
      const started = await start();
      for (const name of orders) await started.signal(name, order);
      return started;
    });

    await rig.until(() => activities.callsOf('findDisruptions').length > 0);

    expect((await handle.query(pausesQuery)).map(({ scope }) => scope.kind)).toEqual(left);
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

  test('a NodePool that the last look does not list may be paused', async () => {
    const details = { hash: 'h', budgets: [], budgetsCut: true, decisions: [], stays: [] };
    activities.found = [{ commands: [], details }];
    const handle = await start();
    await rig.until(() => activities.callsOf('findDisruptions').length > 0);
    const scope = { kind: 'nodePool', name: 'the-21st' } as const;

    await handle.executeUpdate(pauseUpdate, { args: [{ scope, ...ann }] });

    expect(await handle.query(pausesQuery)).toMatchObject([{ scope }]);
  });

  test('a pause given by update ends after its time to live, or at a resume before that', async () => {
    const handle = await start();
    const pool = { kind: 'nodePool', name: 'default', reason: 'Underutilized' } as const;
    await handle.executeUpdate(pauseUpdate, { args: [{ scope: { kind: 'cluster' }, ...ann, ttl: '2h' }] });
    await handle.executeUpdate(pauseUpdate, { args: [{ scope: pool, ...ann }] });

    const left = await handle.executeUpdate(resumeUpdate, { args: [{ scope: pool, ...ann }] });
    expect(left.map(({ scope }) => scope.kind)).toEqual(['cluster']);
    expect(left[0]?.until).toBeDefined();
    await rig.sleep('121 minutes');

    await rig.until(async () => (await handle.query(pausesQuery)).length === 0);
  });

  test('pods moved too often in a row pause their pool, and the pause says so', async () => {
    const why = 'pods of node-a were moved 3 times in a row within a day, and maxMoveChain is 3';
    activities.found = [{ commands: [], chains: [{ nodePool: 'default', why }] }];
    const handle = await start();

    const [pause] = await rig.until(async () => {
      const pauses = await handle.query(pausesQuery);
      return pauses.length > 0 ? pauses : undefined;
    });

    expect(pause).toMatchObject({
      actor: 'stowage',
      reason: why,
      scope: { kind: 'nodePool', name: 'default', reason: 'Underutilized' },
    });
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

    const workflowId = workflowIds.consolidate(cluster, [candidate.claim.uid]);
    await handle.signal(disruptionFinishedSignal, {
      workflowId,
      outcome: 'done',
      targets: [{ node: 'node-c', nodePool: 'default' }],
    });
    await rig.until(() =>
      activities
        .inputsOf<DisruptionView>('findDisruptions')
        .at(-1)
        ?.memory?.some(({ node, depth }) => node === 'node-c' && depth === 1),
    );
  });

  test('answers why a node stays, from the last look or a new one, and when its budget opens', async () => {
    const changesAt = '2026-01-06T09:00:00.000Z';
    const shut = { nodePool: 'default', reason: 'Empty', total: 3, disrupting: 0, allowed: 0, changesAt } as const;
    const stays = [{ why: 'pod default/db is marked do-not-disrupt', nodes: ['node-x'] }];
    activities.found = [{ commands: [], details: { hash: 'h', budgets: [shut], decisions: [], stays, staysMore: 2 } }];
    const handle = await start();
    await rig.until(async () => (await handle.query(whyNotQuery, 'node-x')).verdict === 'stays');

    expect((await handle.query(whyNotQuery, 'node-x')).why).toBe('pod default/db is marked do-not-disrupt');
    expect(await handle.query(staysQuery)).toEqual({ stays, more: 2 });
    expect((await handle.query(whyNotQuery, 'node-y')).verdict).toBe('unknown');
    expect((await handle.executeUpdate(whyNotUpdate, { args: ['node-y'] })).why).toBe('it is not empty');
    expect(await handle.query(nextWindowQuery)).toMatchObject({ at: changesAt, nodePool: 'default', reason: 'Empty' });
    const pause = handle.executeUpdate(pauseUpdate, { args: [{ scope: { kind: 'nodePool', name: 'x' }, ...ann }] });
    expect(await refusalOf(pause)).toBe('UnknownScope');
  });

  test('pauses are written to Kubernetes, and a restarted disrupt reads them there', async () => {
    const first = await start();
    const scope = { kind: 'nodePool', name: 'default' } as const;
    await first.executeUpdate(pauseUpdate, { args: [{ ...ann, scope }] });
    await rig.until(() => activities.pauses.length === 1);
    await first.terminate('lost');

    const second = await start();
    await rig.until(async () => (await second.query(pausesQuery)).length === 1);
    expect(await second.query(pausesQuery)).toEqual([{ ...ann, scope }]);
  });

  test('an undecodable payload is reported as such, and holds nothing up', async () => {
    const handle = await start();
    const { workflowId } = handle;
    // As the Temporal UI sends one that is said to be protobuf, and as a broken client sends JSON.
    for (const [encoding, data] of [
      ['json/protobuf', '{}'],
      ['json/plain', '{'],
    ] as const) {
      const payloads = [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }];
      for (const signalName of [pauseSignal.name, slotReturnedSignal.name]) {
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
    await handle.signal(slotRequestSignal, request());
    await rig.until(async () => (await running(handle)).length === 2);
  });

  test('pauses that kubectl creates or deletes count as soon as they are signalled', async () => {
    const handle = await start();
    const paused = async (): Promise<number> => (await handle.query(pausesQuery)).length;
    activities.pauses = [{ ...ann, scope: { kind: 'cluster' } }];
    await handle.signal(pausesChangedSignal);
    await rig.until(async () => (await paused()) === 1);

    activities.pauses = [];
    await handle.signal(pausesChangedSignal);
    await rig.until(async () => (await paused()) === 0);
  });

  // Rule `candidates/left-over-taints`.
  test('a restarted disrupt adopts the workflows that own tainted nodes: pauses reach them, and they count until they are closed', async () => {
    const candidates = [candidateOf({ name: 'a', uid: nodes[0]!.claim.uid })];
    const owner = workflowIds.consolidate(cluster, [nodes[0]!.claim.uid]);
    activities.nodeStates = ['waiting'];
    activities.stuck = true;
    const consolidate = await rig.start('consolidate', owner, { cluster, reason: 'Empty', candidates, paused: true });
    activities.owners = [{ workflowId: owner, reason: 'Empty', candidates: [nodes[0]!] }];

    const handle = await start();
    await rig.until(async () => (await running(handle)).join() === 'node-a');
    await handle.executeUpdate(pauseUpdate, { args: [{ ...ann, scope: { kind: 'node', name: 'node-a' } }] });
    await rig.until(async () => (await consolidate.query(phaseQuery)) === 'paused');

    activities.owners = [];
    // In a cluster in which nothing changes.
    await rig.sleep('2 minutes');
    await rig.until(async () => (await running(handle)).length === 0);
  });

  // Rule `invariants/pauses-hold`.
  test('a restarted disrupt sends the pauses in force to workflows that wait for a resume: those not paused go on', async () => {
    const candidates = [candidateOf({ name: 'a', uid: nodes[0]!.claim.uid })];
    const workflowId = workflowIds.consolidate(cluster, [nodes[0]!.claim.uid]);
    activities.nodeStates = ['waiting'];
    activities.stuck = true;
    const consolidate = await rig.start('consolidate', workflowId, {
      cluster,
      reason: 'Empty',
      candidates,
      paused: true,
    });
    await rig.until(async () => (await consolidate.query(phaseQuery)) === 'paused');
    activities.held = [workflowId];
    activities.pauses = ['node-a', 'node-b'].map((name) => ({ ...ann, scope: { kind: 'node', name } }));

    const handle = await start();
    await rig.until(async () => (await sent(handle, 'pausesInForce')) === 1);
    await handle.signal(clusterChangedSignal);
    await rig.sleep('10 minutes');
    expect(await consolidate.query(phaseQuery)).toBe('paused');
    // What it knows already is not said again.
    expect(await sent(handle, 'pausesInForce')).toBe(1);

    await handle.executeUpdate(resumeUpdate, { args: [{ ...ann, scope: { kind: 'node', name: 'node-a' } }] });
    await rig.until(async () => (await consolidate.query(phaseQuery)) === 'draining');
  });

  // Hundreds of signals in each run would fill it at once, and so on for ever.
  test('pauses and slots that workflows already know are not sent again after continue-as-new', async () => {
    const waiting = ['a', 'b'].map((uid) => workflowIds.expire(cluster, uid));
    activities.held = waiting;
    activities.holders = waiting.map((workflowId) => ({ workflowId, runId: 'run-1' }));
    const handle = await start();
    const sentBy = async () => [await sent(handle, 'pausesInForce'), await sent(handle, 'slotsKnown')];
    await rig.until(async () => (await sentBy()).join() === '2,2');

    await lengthen(rig, handle, clusterChangedSignal, wholeRun);
    const checks = activities.callsOf('releaseStrays').length;
    await rig.until(() => activities.callsOf('releaseStrays').length > checks);
    expect(await sentBy()).toEqual([0, 0]);

    activities.holders = waiting.map((workflowId) => ({ workflowId, runId: 'run-2' }));
    await rig.sleep('2 minutes');
    await handle.signal(clusterChangedSignal);
    await rig.until(async () => (await sentBy()).join() === '0,2');
  });

  // Rules `invariants/pauses-hold`, `invariants/failures-are-contained`.
  test('a pause that Kubernetes refuses to store applies all the same, is reported, delays no look, and is written later', async () => {
    const handle = await start();
    activities.pausesRefused = 'policy says no';
    await handle.executeUpdate(pauseUpdate, { args: [{ ...ann, scope: { kind: 'cluster' } }] });
    const notWritten = async () => (await handle.query(explainQuery)).facts['pauses that Kubernetes does not have'];
    await rig.until(async () => (await notWritten()) === 'policy says no');

    const looks = activities.callsOf('findDisruptions').length;
    await handle.signal(clusterChangedSignal);
    await rig.until(() => activities.callsOf('findDisruptions').length > looks);
    expect(activities.inputsOf<DisruptionView>('findDisruptions').at(-1)!.pauses).toMatchObject([ann]);
    expect(activities.pauses).toEqual([]);

    activities.pausesRefused = undefined;
    await rig.until(() => activities.pauses.length === 1);
    expect(activities.pauses).toMatchObject([ann]);
    await rig.until(async () => (await notWritten()) === undefined);
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
