import { describe, expect, test } from '@jest/globals';
import { workflowIds } from '../../core/ids.js';
import { kubernetesThrough, portOf } from '../../tools/stack/network/redirected.js';
import { TcpProxy } from '../../tools/stack/network/tcp-proxy.js';
import { Replica } from '../../tools/stack/replica.js';
import { clusterChangedSignal, explainQuery, type Explanation } from '../../workflows/messages.js';
import { createDefaultPool, deploy } from '../live/world.js';
import { readiness, valueOf } from './answers.js';
import { instanceOf, large, sharedContainment } from './containment.js';
import { SilentWatches } from './silent-watches.js';

// What is away deletes nothing (invariants/outages-harm-nothing). Seconds here; the workflow tests have the hours.
const on = sharedContainment(createDefaultPool);

/** Ids of the machines that end or have ended. */
const ended = async (): Promise<string[]> =>
  (await on.world.cloud.instances())
    .filter(({ state }) => state === 'shutting-down' || state === 'terminated')
    .map(({ id }) => id);

const launchOf = (uid = ''): string => workflowIds.launch(on.cluster, uid);

const saysWhatItDoes = ({ phase, waitingFor = '' }: Explanation): boolean =>
  phase === 'searching' && /^a search that began at \S+Z$/.test(waitingFor);

describe('an outage of a dependency', () => {
  test('API server down while a node registers: the outage is logged, and the same claim gets its node', async () => {
    const { stack, cloud } = on.world;
    await cloud.configure({ joiner: { joinDelayMs: 15_000 } });
    await deploy(on.world, 'registering', large);
    const claim = await on.claim('with an instance', (each) => instanceOf(each) !== '');
    const disrupt = on.workflow(workflowIds.disrupt(on.cluster));

    stack.freeze('kube-apiserver', true);
    try {
      const isNoticed = async (): Promise<boolean> => (await readiness(on.world)).includes('API server is unreachable');
      await on.until('/readyz saying so', isNoticed, 60);
      await disrupt.signal(clusterChangedSignal);
      const isSaid = async (): Promise<boolean> => saysWhatItDoes(await disrupt.query(explainQuery));
      await on.until('disrupt saying that it searches, and since when', isSaid, 60);
    } finally {
      stack.freeze('kube-apiserver', false);
    }

    const node = await on.runs('registering');
    const { metadata, status } = await on.claim('initialized', ({ status: now }) => now?.nodeName === node);
    expect([metadata.uid, status?.providerID]).toEqual([claim.metadata.uid, claim.status?.providerID]);
    await expect(on.workflow(launchOf(metadata.uid)).result()).resolves.toMatchObject({ outcome: 'initialized' });
    expect(await ended()).toEqual([]);
    await cloud.configure({ joiner: { joinDelayMs: 0 } });
  });

  test('Temporal down after CreateFleet took effect: the claim has that instance, and no second one', async () => {
    const { stack, cloud } = on.world;
    await cloud.addFault({ kind: 'delay', service: 'ec2', action: 'CreateFleet', delayMs: 8000, times: 0 });
    await deploy(on.world, 'unheard', large);
    const claim = await on.claim('without an instance', (each) => instanceOf(each) === '');
    const isLaunching = async (): Promise<boolean> => {
      const { raw } = await on.workflow(launchOf(claim.metadata.uid)).describe();
      return (raw.pendingActivities ?? []).some(({ activityType }) => activityType?.name === 'launchInstance');
    };
    await on.until('Its launch asking the cloud', () => isLaunching().catch(() => false), 60);

    stack.freeze('temporal', true);
    try {
      await on.until('Its instance', async () => (await on.machinesOf(claim)).length > 0, 60);
      await on.until(
        '/readyz saying so',
        async () => (await readiness(on.world)).includes('Temporal is not connected'),
        120,
      );
    } finally {
      stack.freeze('temporal', false);
    }
    await cloud.clearFaults();

    const { metadata } = await on.claimUnder('unheard');
    expect(metadata.uid).toBe(claim.metadata.uid);
    expect(await on.machinesOf(claim)).toHaveLength(1);
    expect(await ended()).toEqual([]);
  });

  test('EC2 down: claims wait, nodes stay, and what was requested is launched once EC2 answers', async () => {
    const { cloud } = on.world;
    const before = (await on.claims()).map(({ metadata }) => metadata.uid);
    await cloud.addFault({ kind: 'cut', service: 'ec2', times: 0 });
    await deploy(on.world, 'unlaunched', large);
    const isTold = ({ status }: Parameters<typeof instanceOf>[0]): boolean =>
      status?.conditions?.some(
        ({ type, status: is, message }) => type === 'Launched' && is === 'Unknown' && message !== '',
      ) === true;
    const claim = await on.claim('that says what it waits for', isTold);
    await cloud.clearFaults();

    expect((await on.claimUnder('unlaunched')).metadata.uid).toBe(claim.metadata.uid);
    expect((await on.claims()).map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(before));
    expect(await ended()).toEqual([]);
  });

  test('watches stay open but carry nothing: they are opened again within seconds, and no event is missed', async () => {
    const { stack } = on.world;
    const network = await TcpProxy.start(portOf(stack.apiserver));
    await stack.stopComponent('stowage');
    const settings = { KUBECONFIG: kubernetesThrough(stack, `https://127.0.0.1:${network.port}`) };
    const stowage = await Replica.start(stack, { name: 'stowage-through-proxy', role: 'all', settings });
    try {
      await deploy(on.world, 'heard', large);
      const claim = await on.claimUnder('heard');

      const restarted = async (kind: string): Promise<number> =>
        (await valueOf(stowage.metricsAddress, `stowage_watches_restarted_total{kind="${kind}"}`)) ?? 0;
      const before = { Pod: await restarted('Pod'), NodeClaim: await restarted('NodeClaim') };
      network.strand();
      await deploy(on.world, 'unheard-of', large);
      await on.world.kube.delete('NodeClaim', { name: claim.metadata.name ?? '' });

      // Six seconds after the news at the latest: three of silence, a check of one, and two of grace. The server ends a watch after five minutes.
      const areNoticed = async (): Promise<boolean> =>
        (await restarted('Pod')) > before.Pod && (await restarted('NodeClaim')) > before.NodeClaim;
      await on.until('Both watches begun anew', areNoticed, 120);
      await on.runs('unheard-of', undefined, 120);
      await on.runs('heard', claim.status?.nodeName, 120);
      await on.until('The claim gone', async () => (await on.claims()).every(({ metadata }) => metadata.uid !== claim.metadata.uid), 120); // prettier-ignore
    } finally {
      await stowage.kill();
      await network.stop();
      await stack.startComponent('stowage');
    }
  });

  // Rule `interruption/reading-the-queue`.
  test('watches of NodeClaims are silent while an interruption notice comes for a claim that the cache lacks: the notice stays on the queue until it is handled', async () => {
    const { stack, kube, cloud } = on.world;
    const watches = await SilentWatches.start(stack);
    await stack.stopComponent('stowage');
    const settings = { KUBECONFIG: kubernetesThrough(stack, `https://127.0.0.1:${watches.port}`) };
    const stowage = await Replica.start(stack, { name: 'stowage-with-old-claims', role: 'all', settings });
    try {
      const known = (await on.claims()).map(({ metadata }) => metadata.uid);
      watches.silence('nodeclaims');
      await deploy(on.world, 'late-known', large);
      const isNew = (each: Parameters<typeof instanceOf>[0]): boolean => !known.includes(each.metadata.uid) && instanceOf(each) !== ''; // prettier-ignore
      const claim = await on.claim('with an instance that no watch reported', isNew);
      await cloud.interruptSpot(instanceOf(claim), { terminate: false });
      const handling = workflowIds.interrupt(on.cluster, instanceOf(claim));
      await on.until('The notice taken', () => on.isOpen(handling), 120);

      watches.silence(undefined);
      const isGone = async (): Promise<boolean> => (await kube.get('NodeClaim', { name: claim.metadata.name ?? '' })) === undefined; // prettier-ignore
      await on.until('The claim gone', isGone, 240);
      await on.runs('late-known');
      await expect(on.workflow(handling).result()).resolves.toMatchObject({ outcome: 'drained' });
    } finally {
      await stowage.kill();
      await watches.stop();
      await stack.startComponent('stowage');
    }
  });
});
