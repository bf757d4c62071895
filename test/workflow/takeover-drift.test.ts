import { expect, test } from '@jest/globals';
import type { RolloutRules } from '../../activities/drift/contract.js';
import { workflowIds } from '../../core/ids.js';
import { approveUpdate } from '../../workflows/messages.js';
import { cluster } from './rig.js';
import { ann, approval, Takeover } from './takeover.js';

const rules: RolloutRules = {
  canary: '1',
  soakMs: 600_000,
  growthFactor: 2,
  maximumWave: '50%',
  maximumFailurePercent: 20,
  onFailure: 'Stop',
};

const world = new Takeover();

test.each(['awaiting approval', 'replacing', 'soaking', 'draining'])(
  'replaceDrifted, replayed by another worker while %s, is resumed, approved and finished',
  async (phase) => {
    const { activities, rig } = world;
    const nodes = [world.candidate('x'), world.candidate('y')];
    activities.rollout = () => ({
      state: 'live',
      rules,
      total: 4,
      drifted: nodes.filter(({ claim }) => !world.drained().includes(claim.name)),
      blocked: 0,
      unwell: [],
      approval,
    });
    activities.stuck = phase === 'draining';
    await world.startDisrupt();
    const hash = `hash-${activities.serial}`;
    const input = { cluster, nodePool: 'default', poolUid: 'pool', hash };
    const handle = await rig.start('replaceDrifted', workflowIds.drift(cluster, 'pool', hash), input);
    await world.inPhase(handle, 'awaiting approval');
    if (phase === 'awaiting approval') await world.pausedAWhile(handle, phase);
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    await rig.sleep('5 seconds');
    const child = rig.client.workflow.getHandle(workflowIds.replace(cluster, nodes[0]!.claim.uid));
    await world.inPhase(child, 'replacing');
    await rig.until(() => activities.callsOf('syncNode').length > 0);
    if (phase === 'replacing') {
      await world.pausedAWhile(child);
      await rig.until(() => activities.tainted.size === 1);
    }
    world.comesUp();
    if (phase === 'draining') await world.takenOverDraining();
    if (phase === 'soaking') {
      await rig.sleep('2 minutes');
      await world.inPhase(handle, 'soaking');
      await rig.replaceWorkers();
    }

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'done', replaced: 2, failed: 0 });
    expect(world.drained()).toEqual(['x', 'y']);
    expect(activities.callsOf('launchInstance')).toHaveLength(1);
    await world.nothingRuns();
  },
);
