import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { nodeChangedSignal, pauseSignal, phaseQuery, resumeSignal, runningQuery } from '../../workflows/messages.js';
import type { Candidate, ClaimRef } from '../../workflows/messages.js';
import { startDisrupt, startProvision } from './entities.js';
import { activityNames, claimPlan, emptyPlan, FakeActivities } from './fake-activities.js';
import { candidateOf } from './fixtures.js';
import { startRig } from './rig.js';
import type { WorkflowRig } from './rig.js';

const hour = 3_600_000;
export const ann = { actor: 'ann', reason: 'release day' };
const everything = { kind: 'cluster' } as const;
export const approval = { timeoutMs: 48 * hour, onTimeout: 'Reject' } as const;

/**
 * For disruptions that are paused on their way, taken over by another worker, resumed, approved where they must be (an hour
 * later), and finished: a test for each phase that one goes through. Workers cache nothing here: each of the steps between is
 * taken by one that knows the history alone.
 */
export class Takeover {
  activities!: FakeActivities;
  rig!: WorkflowRig;
  private disrupt!: WorkflowHandle;

  /** Call it at the top of a file: it sets up each of its tests. */
  constructor() {
    beforeAll(async () => {
      this.rig = await startRig(activityNames, { forgetful: true });
    });
    afterAll(async () => this.rig.close());
    beforeEach(async () => {
      this.activities = new FakeActivities();
      this.rig.use(this.activities.noting());
      this.activities.view = { state: 'live', registered: true, initialized: false };
      this.activities.plans = [{ ...emptyPlan, claims: [claimPlan(2)] }];
      this.activities.nodeStates = ['registered'];
      await startProvision(this.rig);
    });
    afterEach(async () => this.rig.finish());
  }

  candidate(name: string): Candidate {
    return candidateOf({ name, uid: `uid-${name}-${this.activities.serial}` }, { capacityType: 'on-demand' });
  }

  async startDisrupt(): Promise<WorkflowHandle> {
    return (this.disrupt = await startDisrupt(this.rig));
  }

  inPhase(handle: WorkflowHandle, phase: string): Promise<true> {
    return this.rig.until(async () => (await handle.query(phaseQuery).catch(() => '')) === phase);
  }

  /** Nothing is tainted or drained meanwhile, though another worker takes over; `phase` is what it says of itself. */
  async pausedAWhile(handle: WorkflowHandle, phase = 'waiting for its turn'): Promise<void> {
    const { activities, disrupt, rig } = this;
    await disrupt.signal(pauseSignal, { scope: everything, ...ann });
    await this.pauses(1);
    // As the operator does.
    await handle.signal(nodeChangedSignal);
    await rig.until(() => activities.tainted.size === 0);
    await rig.replaceWorkers();
    // What comes up is polled each minute: an hour where nothing does. Not as long as timers of `disrupt`: the time-skipping server loses one
    // that fires in the workflow task that cancels it.
    await rig.sleep(phase === 'awaiting approval' ? '3623 seconds' : '323 seconds');
    await this.inPhase(handle, phase);
    expect([...activities.tainted]).toEqual([]);
    expect(activities.callsOf('beginTermination')).toEqual([]);
    await disrupt.signal(resumeSignal, { scope: everything, ...ann });
    await this.pauses(0);
    await handle.signal(nodeChangedSignal);
  }

  private pauses(count: number): Promise<true> {
    return this.rig.until(() => this.activities.pauses.length === count);
  }

  /** The replacement initializes. */
  comesUp(): void {
    this.activities.nodeStates = ['initialized'];
    this.activities.view = { state: 'live', registered: true, initialized: true };
  }

  drained(): string[] {
    return this.activities.inputsOf<{ claim: ClaimRef }>('beginTermination').map(({ claim }) => claim.name);
  }

  nothingRuns(): Promise<true> {
    return this.rig.until(async () => (await this.disrupt.query(runningQuery)).length === 0);
  }

  /** A drain that is `stuck` from the start; another worker goes on with it. */
  async takenOverDraining(): Promise<void> {
    const { activities, rig } = this;
    await rig.sleep('2 minutes');
    await rig.until(() => activities.callsOf('drainNode').length > 0);
    await rig.replaceWorkers({ settled: false });
    activities.stuck = false;
  }
}
