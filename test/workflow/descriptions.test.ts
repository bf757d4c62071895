import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { Decision, Explanation } from '../../workflows/messages.js';
import * as messages from '../../workflows/messages.js';
import { described } from '../../workflows/people/descriptions.js';
import { workflowIds } from '../../core/ids.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { candidateOf } from './fixtures.js';
import { cluster, startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const hour = 3_600_000;

interface Described {
  readonly name: string;
  readonly description?: string;
}

/** Descriptions of a workflow's handlers for the Temporal UI. */
interface Metadata {
  readonly definition: {
    readonly signalDefinitions?: readonly Described[];
    readonly updateDefinitions?: readonly Described[];
    readonly queryDefinitions?: readonly Described[];
  };
}

/** The example input of the description. */
function inputOf({ description = '' }: Described): unknown[] {
  const [, example] = /Example: (.*)$/.exec(description) ?? [];
  return example === undefined ? [] : [JSON.parse(example)];
}

const everyName = new Set(
  (Object.values(messages) as readonly object[])
    .map((each) => each as { readonly type?: string; readonly name?: string })
    .flatMap(({ type, name }) => (type !== undefined && name !== undefined ? [`${type} ${name}`] : [])),
);
const hasInput = (name: string): boolean => described(name).description?.includes('Example: ') === true;
/** The workflow may end by them: they come last. */
const ending: ReadonlySet<string> = new Set(['stopLaunch', 'interruption']);
const reached = new Set<string>();
/** As the client gives it, and as the server writes it. */
const unhandled = new Set(['1', 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND']);

// (surfaces/examples-work)
describe('the example inputs shown in the Temporal UI', () => {
  let activities: FakeActivities;
  let rig: WorkflowRig;
  let now: number;

  beforeAll(async () => {
    rig = await startRig(activityNames);
  });
  afterAll(async () => rig.close());
  beforeEach(async () => {
    activities = new FakeActivities();
    rig.use(activities.noting());
    now = await rig.now();
  });
  afterEach(async () => rig.finish());

  const claim = () => ({ name: 'default-abc', uid: `uid-described-${activities.serial}` });
  const about = () => ({ cluster, claim: claim(), nodePool: 'default' });
  const candidate = () => candidateOf(claim(), { node: 'node-1' });
  const asking: Decision = {
    ...{ method: 'single', decision: 'delete', replacements: [], typeLists: [], moves: [], podCount: 0 },
    ...{ priceBefore: 0.2, priceAfter: 0, alternatives: [], alongside: [], targets: [], policy: 'careful' },
    approval: { timeoutMs: 24 * hour, onTimeout: 'Reject' },
  };
  const live = { state: 'live' as const, mode: 'ReplaceFirst' as const };

  /** A workflow of each type, in a phase in which it stays. */
  const hosts: Readonly<Record<string, () => Promise<WorkflowHandle>>> = {
    disrupt: async () => rig.start('disrupt', workflowIds.disrupt(cluster), { cluster }),
    provision: async () => rig.start('provision', workflowIds.provision(cluster), { cluster }),
    offerings: async () => {
      const refused = {
        instanceType: 'c5.large',
        zone: 'a',
        capacityType: 'spot',
        reason: 'x',
        until: now + hour,
        forMs: hour,
      };
      return rig.start('offerings', workflowIds.offerings(cluster), { cluster, carried: [refused] });
    },
    expireNode: async () => {
      activities.expiration = [{ ...live, beginAt: now, candidate: candidate() }];
      activities.admits = () => false;
      return rig.start('expireNode', workflowIds.expire(cluster, claim().uid), { ...about(), expiresAt: now });
    },
    'expireNode, left alone': async () => {
      activities.expiration = [
        { ...live, beginAt: now, candidate: candidate(), leftAlone: 'karpenter.sh/do-not-disrupt' },
      ];
      return rig.start('expireNode', workflowIds.expire(cluster, claim().uid), { ...about(), expiresAt: now });
    },
    consolidate: async () =>
      rig.start('consolidate', workflowIds.consolidate(cluster, [claim().uid]), {
        ...{ cluster, reason: 'Underutilized', candidates: [candidate()], decision: asking, validationMs: 1 },
      }),
    repairNode: async () => {
      const ill = { nodeName: 'node-1', providerId: 'fake:///z/i-1', condition: 'Ready=False', since: now };
      activities.health = [{ state: 'unhealthy', ...ill, dueAt: now + hour, steps: [], candidate: candidate() }];
      return rig.start('repairNode', workflowIds.repair(cluster, claim().uid), about());
    },
    handleInterruption: async () => {
      const instanceId = `i-described-${activities.serial}`;
      return rig.start('handleInterruption', workflowIds.interrupt(cluster, instanceId), { cluster, instanceId });
    },
    replaceDrifted: async () => {
      const uid = `pool-described-${activities.serial}`;
      activities.rollout = () => ({ ...rolloutOf(), drifted: [candidate()], leftAlone: 'a window' });
      activities.rolledBack = { outcome: 'rolledBack', to: 'abc' } as never;
      return rig.start('replaceDrifted', workflowIds.drift(cluster, uid, 'a'), {
        ...{ cluster, nodePool: 'default', poolUid: uid, hash: 'a' },
      });
    },
    keepReplicas: async () => {
      const uid = `static-described-${activities.serial}`;
      activities.replicas = () => ({
        ...{ state: 'live', replicas: 0, running: 0, pending: 0, deleting: [], create: [], typeLists: [], remove: [] },
      });
      return rig.start('keepReplicas', workflowIds.replicas(cluster, uid), {
        ...{ cluster, nodePool: 'default', poolUid: uid },
      });
    },
    launchNode: async () => {
      activities.nodeStates = ['waiting'];
      return rig.start('launchNode', workflowIds.launch(cluster, claim().uid), about());
    },
    terminateNode: async () => {
      activities.stuck = true;
      return rig.start('terminateNode', workflowIds.terminate(cluster, claim().uid), {
        ...{ ...about(), reason: 'deleted', deleteClaim: false },
      });
    },
    measureSavings: async () =>
      rig.start('measureSavings', workflowIds.savings(cluster, `run-${activities.serial}`), {
        cluster,
        command: {
          ...{ id: 'c', reason: 'Empty', finishedAt: now, nodes: ['node-1'], nodePools: ['default'] },
          ...{ priceBefore: 1, priceAfter: 0, podsMoved: 0, replacements: [] },
        },
      }),
  };
  const rolloutOf = () => ({
    ...{ state: 'live' as const, total: 1, blocked: 0, unwell: [] },
    rules: {
      ...{ canary: '1', soakMs: 1, growthFactor: 2, maximumWave: '50%', maximumFailurePercent: 20 },
      onFailure: 'Stop' as const,
    },
  });

  /** Where an order makes sense: elsewhere it is refused for that, however well it is formed. */
  const places: Readonly<Record<string, string>> = {
    ...{ approve: 'consolidate', reject: 'consolidate', abort: 'consolidate', hold: 'consolidate' },
    ...{ withdraw: 'consolidate', expedite: 'expireNode', retry: 'expireNode, left alone' },
    ...{ rollback: 'replaceDrifted', pause: 'disrupt', resume: 'disrupt', reconsider: 'disrupt' },
  };
  const metadataOf = async (handle: WorkflowHandle): Promise<Metadata['definition']> =>
    (await handle.query<Metadata>('__temporal_workflow_metadata')).definition;
  const explained = async (handle: WorkflowHandle): Promise<Explanation> => handle.query(messages.explainQuery);
  const host = async (name: string): Promise<WorkflowHandle> => {
    const handle = await hosts[name]!();
    const waits = name === 'consolidate' ? 'awaiting approval' : undefined;
    await rig.until(async () => {
      const { phase, waitingFor } = await explained(handle);
      return waits === undefined ? phase !== 'starting' || waitingFor !== undefined || isEntity(name) : phase === waits;
    });
    return handle;
  };
  const isEntity = (name: string): boolean =>
    ['offerings', 'provision', 'disrupt', 'handleInterruption'].includes(name);

  /** Nothing of it was malformed: neither the workflow nor the check of orders refuses it. */
  const expectTaken = async (handle: WorkflowHandle, allowed: RegExp): Promise<void> => {
    const { facts } = await explained(handle);
    expect(facts['last signal ignored']).toBeUndefined();
    expect(String(facts['last order refused'] ?? 'nothing was refused')).toMatch(allowed);
    const { events } = await handle.fetchHistory();
    const failures = (events ?? []).map((event) => event.workflowTaskFailedEventAttributes?.cause);
    // A signal that comes while a task is answered has it answered anew.
    expect(failures.filter((cause) => cause != null && !unhandled.has(String(cause)))).toEqual([]);
  };
  /** An order that is well formed may come when there is nothing to undo. */
  const fine: Readonly<Record<string, { readonly types: readonly string[]; readonly note: RegExp }>> = {
    resume: { types: [messages.refusals.notPaused], note: /nothing was refused|is not paused/ },
    reconsider: {
      types: [messages.refusals.nothingRefused],
      note: /nothing was refused|nothing is refused for node-1/,
    },
  };
  const allowedNote = (name: string): RegExp => fine[name]?.note ?? /^nothing was refused$/;

  const signal = async (handle: WorkflowHandle, each: Described): Promise<void> => {
    await handle.signal(each.name, ...inputOf(each));
    await expectTaken(handle, allowedNote(each.name));
    reached.add(`signal ${each.name}`);
  };
  const update = async (handle: WorkflowHandle, each: Described): Promise<void> => {
    const type = await handle.executeUpdate<unknown, [unknown]>(each.name, { args: inputOf(each) as [unknown] }).then(
      () => 'accepted',
      (error: unknown) => {
        if (!(error instanceof WorkflowUpdateFailedError)) throw error;
        return (error.cause as { type?: string } | undefined)?.type ?? String(error.cause);
      },
    );
    expect(['accepted', ...(fine[each.name]?.types ?? [])]).toContain(type);
    reached.add(`update ${each.name}`);
  };
  const query = async (handle: WorkflowHandle, each: Described): Promise<void> => {
    await handle.query(each.name, ...inputOf(each));
    reached.add(`query ${each.name}`);
  };

  test.each(Object.keys(hosts))('the examples of signals and queries to %s are accepted', async (name) => {
    const handle = await host(name);
    const { signalDefinitions = [], updateDefinitions = [], queryDefinitions = [] } = await metadataOf(handle);
    const isOwn = ({ name: each }: Described): boolean => !each.startsWith('__') && places[each] === undefined;
    for (const each of queryDefinitions.filter(isOwn)) await query(handle, each);
    for (const each of updateDefinitions.filter(isOwn)) await update(handle, each);
    for (const each of signalDefinitions.filter((one) => isOwn(one) && !ending.has(one.name)))
      await signal(handle, each);
    for (const each of signalDefinitions.filter((one) => ending.has(one.name))) await signal(handle, each);
  });

  test.each(Object.entries(places))(
    'of the order %s to %s are accepted as signal and as update',
    async (name, place) => {
      for (const form of ['signal', 'update'] as const) {
        if (form === 'update' && !everyName.has(`update ${name}`)) continue;
        activities = new FakeActivities();
        rig.use(activities.noting());
        const handle =
          place === 'disrupt' && form === 'update'
            ? rig.client.workflow.getHandle(workflowIds.disrupt(cluster))
            : await host(place);
        const definitions = (await metadataOf(handle))[`${form}Definitions`] ?? [];
        const found = definitions.find((each) => each.name === name);
        expect(found).toBeDefined();
        await (form === 'signal' ? signal : update)(handle, found!);
      }
    },
  );

  test('exist for every signal, update and query that has an input', () => {
    expect([...everyName].filter((each) => hasInput(each.split(' ')[1]!) && !reached.has(each)).sort()).toEqual([]);
  });
});
