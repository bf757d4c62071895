import { expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { approveUpdate } from '../../workflows/messages.js';
import type { Decision } from '../../workflows/messages.js';
import { claimPlan } from './fake-activities.js';
import { cluster } from './rig.js';
import { ann, approval, Takeover } from './takeover.js';

const world = new Takeover();

test.each(['validating', 'awaiting approval', 'launching', 'draining'])(
  'consolidate, replayed by another worker while %s, is resumed, approved and finished',
  async (phase) => {
    const { activities, rig } = world;
    const candidates = [world.candidate('a'), world.candidate('b')];
    const decision: Decision = {
      method: 'multi',
      decision: 'replace',
      replacements: [claimPlan(3)],
      typeLists: [['m5.large']],
      moves: [],
      podCount: 3,
      priceBefore: 0.2,
      priceAfter: 0.12,
      alternatives: [],
      alongside: [],
      targets: [],
      policy: 'careful',
      approval,
    };
    activities.found = [{ commands: [{ reason: 'Underutilized', candidates, decision }] }];
    activities.stuck = phase === 'draining';
    await world.startDisrupt();
    const id = workflowIds.consolidate(
      cluster,
      candidates.map(({ claim }) => claim.uid),
    );
    const handle = rig.client.workflow.getHandle(id);
    await rig.sleep('5 seconds');
    await world.inPhase(handle, 'validating');

    if (phase === 'validating') await world.pausedAWhile(handle, 'awaiting approval');
    await rig.sleep('20 seconds');
    await world.inPhase(handle, 'awaiting approval');
    if (phase === 'awaiting approval') await world.pausedAWhile(handle, phase);
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    await rig.until(() => activities.callsOf('syncNode').length > 0);
    await world.inPhase(handle, 'launching');
    if (phase === 'launching') await world.pausedAWhile(handle);
    world.comesUp();
    if (phase === 'draining') await world.takenOverDraining();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', terminated: ['node-a', 'node-b'] });
    expect(world.drained().sort()).toEqual(['a', 'b']);
    expect(activities.callsOf('createClaims')).toHaveLength(1);
    expect(activities.callsOf('launchInstance')).toHaveLength(1);
    await world.nothingRuns();
  },
);
