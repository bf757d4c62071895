import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { createDefaultPool, deploy, nodeOf, within } from '../live/world.js';
import { metrics, readiness, status, workerAnswers } from './answers.js';
import { sharedContainment } from './containment.js';

// Karpenter's lease counts in one namespace and with plausible times alone; while it is alive, nothing at all is done.
const name = 'karpenter-leader-election';
const year2099 = '2099-01-01T00:00:00.000000Z';

const on = sharedContainment(createDefaultPool);

interface Leader {
  /** How often it has renewed its lease. */
  readonly renewals: () => number;
  /** It dies: the lease is not released. */
  die(): Promise<void>;
}
const leaders: Leader[] = [];
afterEach(async () => {
  for (const leader of leaders.splice(0)) await leader.die();
});

const put = async (namespace: string, renewTime: string): Promise<void> => {
  const spec = { holderIdentity: 'karpenter-test', leaseDurationSeconds: 15, renewTime };
  const { outcome } = await on.world.kube.patch('Lease', { namespace, name }, { spec });
  if (outcome === 'gone') await on.world.kube.create('Lease', { metadata: { namespace, name }, spec });
};

/** Renews a lease of Karpenter's name every second, as its leader would. */
function lead(namespace: string): Leader {
  const dead = new AbortController();
  let renewals = 0;
  const loop = (async () => {
    while (!dead.signal.aborted) {
      await put(namespace, new Date().toISOString().replace('Z', '000Z'));
      renewals += 1;
      await sleep(1000, undefined, { signal: dead.signal }).catch(() => undefined);
    }
  })();
  const leader: Leader = {
    renewals: () => renewals,
    die: async () => {
      dead.abort();
      await loop;
    },
  };
  leaders.push(leader);
  return leader;
}

const runs = (app: string): Promise<string> =>
  observe(`Pod ${app} running`, () => nodeOf(on.world, app), within(180), describeState);

const claims = (): Promise<NodeClaim[]> => on.world.kube.list('NodeClaim');
const claimNames = async (): Promise<(string | undefined)[]> =>
  (await claims()).map(({ metadata }) => metadata.name).sort();

async function measured(): Promise<string | undefined> {
  return /^stowage_karpenter_lease_held (\d)$/m.exec(await metrics(on.world))?.[1];
}

const describeState = async (): Promise<string> =>
  `${(await readiness(on.world)).trim()}; claims ${String(await claimNames())}`;

describe("a Lease with the name of Karpenter's leader election", () => {
  test('renewed in another namespace, or in the right one with a time in 2099, keeps Stowage from nothing', async () => {
    const stranger = lead('default');
    await put('kube-system', year2099);

    // Resolves once it is ready.
    await on.world.stack.stopComponent('stowage');
    await on.world.stack.startComponent('stowage');

    await deploy(on.world, 'web', { cpu: '500m', memory: '512Mi' });
    await runs('web');
    expect([await readiness(on.world), await measured()]).toEqual(['ok\n', '0']);
    expect(stranger.renewals()).toBeGreaterThan(1);
  });

  test('keeps Stowage from creating claims and handling interruptions while it is renewed; once it is not, pending pods and notices are handled', async () => {
    const [claim] = await observe(
      'The claim initialized',
      async () => {
        const all = await claims();
        return all.every(({ status: found }) => isTrue(found?.conditions, 'Initialized')) ? all : undefined;
      },
      within(60),
    );
    const [before, node] = [await claimNames(), await nodeOf(on.world, 'web')];
    const karpenter = lead('kube-system');
    await observe(
      'Stowage saying for whom it waits',
      async () => (await readiness(on.world)).includes('karpenter-test holds the lease kube-system/'),
      within(60),
      describeState,
    );
    await observe(
      'No worker answering',
      async () => ((await workerAnswers(on.client, on.world)) ? undefined : true),
      within(60),
    );

    await deploy(on.world, 'held', { cpu: '6', memory: '6Gi' });
    const instanceId = claim?.status?.providerID?.split('/').at(-1) ?? '';
    await on.world.cloud.interruptSpot(instanceId);
    await observe(
      'The pod found unschedulable',
      async () =>
        (await on.world.kube.list('Pod', { namespace: 'default', labelSelector: 'app=held' })).find((pod) =>
          pod.status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable'),
        ),
      within(60),
    );
    // Longer than a batch window, a long poll of the queue, and several looks at the lease.
    const since = karpenter.renewals();
    await observe('Renewals', () => Promise.resolve(karpenter.renewals() > since + 15), within(60));

    const interruption = on.client.workflow.getHandle(workflowIds.interrupt(on.cluster, instanceId));
    expect({ claims: await claimNames(), node: await nodeOf(on.world, 'web'), held: await measured() }).toEqual({
      ...{ claims: before, node, held: '1' },
    });
    await expect(interruption.describe()).rejects.toThrow(/not found/i);
    expect(await status(on.world)).toMatch(/^Karpenter is running\n {2}karpenter-test holds the lease kube-system\//);

    await karpenter.die();

    await runs('held');
    await observe(
      'The interrupted pod running on another node',
      async () => {
        const at = await nodeOf(on.world, 'web');
        return at === undefined || at === node ? undefined : at;
      },
      within(180),
      describeState,
    );
    expect(await readiness(on.world)).toBe('ok\n');
    expect(await status(on.world)).not.toMatch(/Karpenter is running/);
  });
});
