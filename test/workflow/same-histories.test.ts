import { expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { expediteSignal, interruptionSignal } from '../../workflows/messages.js';
import type { Decision } from '../../workflows/messages.js';
import { effectsOf } from './effects.js';
import { startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf, knownInstance } from './fixtures.js';
import { cluster } from './rig.js';
import type { WorkflowRig } from './rig.js';
import { ServerRig } from './server-rig.js';
import { SimulatedRig } from './simulated-rig.js';

// The simulated Temporal is held to the server: what a workflow does there, it does here, in the same order and with the same inputs.

const claim = { name: 'default-abc', uid: 'uid-abc' };
const launchId = workflowIds.launch(cluster, claim.uid);
const terminateId = workflowIds.terminate(cluster, claim.uid);

/** Plays something, and says whose histories are compared. */
type Scenario = (rig: WorkflowRig, activities: FakeActivities) => Promise<readonly string[]>;

const launch: Scenario = async (rig) => {
  await (await rig.start('launchNode', launchId, { cluster, claim, nodePool: 'default' })).result();
  return [launchId];
};
const terminate: Scenario = async (rig) => {
  const input = { cluster, claim, nodePool: 'default', reason: 'deleted', deleteClaim: false };
  await (await rig.start('terminateNode', terminateId, input)).result();
  return [terminateId];
};
const blocked = { state: 'blocked' as const, blockedBy: ['pdb/default/web'], remaining: 1, evicted: 0 };

const scenarios: Readonly<Record<string, Scenario>> = {
  'a launch that takes its time': (rig, activities) => {
    activities.nodeStates = ['waiting', 'waiting', 'registered', 'waiting', 'initialized'];
    return launch(rig, activities);
  },
  'a launch that is refused': (rig, activities) => {
    activities.refusal = { reason: 'insufficient_capacity', message: 'no such luck' };
    return launch(rig, activities);
  },
  'a launch that fails until its time is over': (rig, activities) => {
    activities.launchError = new Error('cloud is on fire');
    return launch(rig, activities);
  },
  'a drain that is blocked for a while': (rig, activities) => {
    activities.drains = [
      blocked,
      blocked,
      { ...blocked, evicted: 1 },
      { state: 'done', blockedBy: [], evicted: 1, remaining: 0 },
    ];
    return terminate(rig, activities);
  },
  'a drain that a user expedites': async (rig, activities) => {
    activities.drains = [blocked];
    activities.stuck = true;
    const input = { cluster, claim, nodePool: 'default', reason: 'deleted', deleteClaim: false };
    const handle = await rig.start('terminateNode', terminateId, input);
    await rig.until(() => activities.callsOf('drainNode').length === 2);
    activities.stuck = false;
    await handle.signal(expediteSignal, { actor: 'ann', force: true });
    await handle.result();
    return [terminateId];
  },
  'a consolidation with a replacement': async (rig, activities) => {
    activities.nodeStates = ['registered', 'initialized'];
    const candidates = [candidateOf(claim, { capacityType: 'on-demand' })];
    const id = workflowIds.consolidate(cluster, [claim.uid]);
    const decision: Decision = {
      ...{ method: 'single', decision: 'replace', replacements: [claimPlan(3)], typeLists: [['m5.large']], moves: [] },
      ...{ podCount: 3, priceBefore: 0.2, priceAfter: 0.1, alternatives: [], alongside: [], targets: [] },
    };
    await (await rig.start('consolidate', id, { cluster, reason: 'Underutilized', candidates, decision })).result();
    return [id, terminateId];
  },
  'an interruption': async (rig, activities) => {
    activities.instance = knownInstance(claim);
    activities.plans = [{ ...emptyPlan, claims: [claimPlan(3)] }];
    await startProvision(rig);
    const id = workflowIds.interrupt(cluster, 'i-1');
    const handle = await rig.start('handleInterruption', id, { cluster, instanceId: 'i-1' });
    const notice = { kind: 'spot_interrupted', instanceId: 'i-1', at: await rig.now(), messageId: 'm-1' };
    await handle.signal(interruptionSignal, notice);
    await handle.result();
    return [id];
  },
};

async function effectsOn(rig: WorkflowRig, scenario: Scenario): Promise<Readonly<Record<string, readonly string[]>>> {
  const activities = new FakeActivities();
  rig.use(activities.noting());
  try {
    const effects: Record<string, readonly string[]> = {};
    for (const id of await scenario(rig, activities)) {
      // Ids that the fakes give count up.
      const text = (effect: string): string => effect.replaceAll(`uid-${activities.serial}-`, 'uid-');
      effects[id] = effectsOf(await rig.client.workflow.getHandle(id).fetchHistory()).map(text);
    }
    await rig.finish();
    return effects;
  } finally {
    await rig.close();
  }
}

test.each(Object.entries(scenarios))(
  "%s has the same effects on the simulated server and on Temporal's",
  async (_, scenario) => {
    const simulated = await effectsOn(await SimulatedRig.start(activityNames, {}), scenario);
    const real = await effectsOn(await ServerRig.start(activityNames, {}), scenario);

    expect(simulated).toEqual(real);
    for (const effects of Object.values(real)) expect(effects.length).toBeGreaterThan(2);
  },
);
