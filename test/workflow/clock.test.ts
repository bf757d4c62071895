import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { activityNames, FakeActivities } from './fake-activities.js';
import { cluster } from './rig.js';
import { ServerRig } from './server-rig.js';

describe("the time-skipping test server's clock", () => {
  let rig: ServerRig;
  beforeAll(async () => {
    rig = await ServerRig.start(activityNames);
  });
  afterAll(async () => rig.close());
  afterEach(async () => rig.finish());

  /** As the server does when it hands a task out twice. */
  const loseCount = async (): Promise<unknown> => rig.env.connection.testService!.lockTimeSkipping({});

  async function launch() {
    const activities = new FakeActivities();
    activities.nodeStates = ['waiting'];
    rig.use(activities.noting());
    const claim = { name: 'default-abc', uid: `uid-${activities.serial}` };
    return rig.start('launchNode', workflowIds.launch(cluster, claim.uid), { cluster, claim, nodePool: 'default' });
  }

  test('advances while a test waits for a result although an activity was lost', async () => {
    const handle = await launch();
    await loseCount();
    await expect(handle.result()).resolves.toMatchObject({ reason: 'registration_timeout' });
  });

  test('advances while a test sleeps, and stops afterwards', async () => {
    await loseCount();
    const before = await rig.now();
    await rig.sleep('1 hour');
    const after = await rig.now();
    expect(after - before).toBeGreaterThanOrEqual(3_600_000);
    await launch();
    expect((await rig.now()) - after).toBeLessThan(60_000);
  });
});
