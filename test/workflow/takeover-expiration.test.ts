import { expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { approveUpdate, clusterChangedSignal } from '../../workflows/messages.js';
import { cluster } from './rig.js';
import { ann, approval, Takeover } from './takeover.js';

const hour = 3_600_000;

const world = new Takeover();

test.each(['awaiting approval', 'waiting for its turn', 'replacing', 'draining'])(
  'expireNode, replayed by another worker while %s, is resumed, approved and finished',
  async (phase) => {
    const { activities, rig } = world;
    const own = world.candidate('old');
    const beginAt = await rig.now();
    activities.expiration = [{ state: 'live', mode: 'ReplaceFirst', beginAt, candidate: own, approval }];
    activities.admits = () => phase !== 'waiting for its turn';
    activities.stuck = phase === 'draining';
    const disrupt = await world.startDisrupt();
    const handle = await rig.start('expireNode', workflowIds.expire(cluster, own.claim.uid), {
      cluster,
      claim: own.claim,
      nodePool: 'default',
      expiresAt: beginAt + hour,
    });
    await world.inPhase(handle, 'awaiting approval');
    if (phase === 'awaiting approval') await world.pausedAWhile(handle, phase);
    await handle.executeUpdate(approveUpdate, { args: [ann] });
    if (phase === 'waiting for its turn') {
      await world.inPhase(handle, phase);
      await world.pausedAWhile(handle, phase);
      activities.admits = () => true;
      await disrupt.signal(clusterChangedSignal);
    }
    await rig.sleep('10 seconds');
    await world.inPhase(handle, 'replacing');
    await rig.until(() => activities.callsOf('syncNode').length > 0);
    if (phase === 'replacing') await world.pausedAWhile(handle);
    world.comesUp();
    if (phase === 'draining') await world.takenOverDraining();

    await expect(handle.result()).resolves.toMatchObject({ outcome: 'replaced' });
    expect(world.drained()).toEqual(['old']);
    expect(activities.callsOf('launchInstance')).toHaveLength(1);
    await world.nothingRuns();
  },
);
