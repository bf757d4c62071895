import { describe, expect, test } from '@jest/globals';
import { annotations, taints } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';
import { hasTaint } from '../../core/taints.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { findingsQuery, phaseQuery, rejectUpdate, runningQuery, whyNotUpdate } from '../../workflows/messages.js';
import { createNodeClass, createNodePool, deploy, within } from '../live/world.js';
import { instanceOf, sharedContainment } from './containment.js';

// Who tainted a node is written on its claim: a `disrupt` that is begun anew takes over what is under way (candidates/left-over-taints).
const on = sharedContainment(async (world) => {
  await createNodeClass(world, 'default');
  await allow(['r5.2xlarge'], world);
  await world.kube.create('DisruptionPolicy', { metadata: { name: 'rules' }, spec: { rates: rate('2') } } as never);
});

/** What went of NodePools of other files counts for theirs. */
const pool = 'adopted';

/** So many nodes may go in a day. */
const rate = (nodes: string): object[] => [{ nodes, per: '24h' }];

/** A pool of these instance types alone; one node at a time may go. */
async function allow(types: readonly string[], world = on.world): Promise<void> {
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [...types] },
  ];
  const spec = { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } };
  await createNodePool(world, pool, { template: { requirements }, spec });
}

const disrupt = (): ReturnType<typeof on.workflow> => on.workflow(workflowIds.disrupt(on.cluster));

/** Another run of it, once it is there. */
async function loseDisrupt(): Promise<void> {
  const { runId } = await disrupt().describe();
  await disrupt().terminate('containment test');
  const isNew = async (): Promise<boolean> => (await disrupt().describe()).runId !== runId;
  await on.until('A new disrupt', isNew, 150);
}

/** Why the node stays, as `disrupt` says now. */
const whyStays = async (node: string): Promise<string> => {
  const verdict = await disrupt()
    .executeUpdate(whyNotUpdate, { args: [node] })
    .catch(() => undefined);
  return verdict?.verdict === 'stays' ? verdict.why : '';
};

describe('disrupt, terminated by hand while a consolidation runs', () => {
  test('a new disrupt finds the running consolidation: its node stays tainted and counts against budgets, waits for a pause to end, and is terminated', async () => {
    const { kube, cloud, stack } = on.world;
    await deploy(on.world, 'web', { cpu: '1', memory: '1Gi' });
    const claim = await on.claimUnder('web');
    const [name, node] = [claim.metadata.name ?? '', claim.status?.nodeName ?? ''];
    // The replacement does not come up before it may.
    stack.freeze('node-joiner', true);
    await allow(['r5.2xlarge', 'c5.large']);
    const owner = async (): Promise<string | undefined> =>
      (await kube.get('NodeClaim', { name }))?.metadata.annotations?.[annotations.disruptionOwner];
    const isTainted = async (): Promise<boolean> => {
      const found = await kube.get('Node', { name: node });
      return found !== undefined && hasTaint(found, taints.disrupted);
    };
    await on.until('The node tainted', async () => (await isTainted()) && (await owner()) !== undefined, 180);
    await on.claim('of the replacement', (each) => each.metadata.name !== name && instanceOf(each) !== '');
    const command = (await owner()) ?? '';

    await loseDisrupt();
    // The new one has started nothing: what it says, it reads from Kubernetes.
    const goes = async (): Promise<boolean> => (await disrupt().executeUpdate(whyNotUpdate, { args: [node] })).verdict === 'going'; // prettier-ignore
    await on.until('The node going', () => goes().catch(() => false), 60);
    const isCounted = async (): Promise<boolean> => (await disrupt().query(findingsQuery))?.details?.budgets.some((one) => one.nodePool === pool && one.disrupting === 1) === true; // prettier-ignore
    await on.until('Budgets counting it', () => isCounted().catch(() => false), 60);
    expect([await owner(), await isTainted(), await on.isOpen(command)]).toEqual([command, true, true]);

    // While a pause holds it there is no taint, so nothing in Kubernetes names it (invariants/pauses-hold).
    await kube.create('DisruptionPause', { metadata: { name: 'release-day' }, spec: { scope: { kind: 'Cluster' }, message: 'release day' } }); // prettier-ignore
    const isHeld = async (): Promise<boolean> =>
      (await on.workflow(command).query(phaseQuery)) === 'waiting for its turn';
    await on.until('The command held', async () => (await isHeld()) && !(await isTainted()), 60);
    await loseDisrupt();
    await kube.delete('DisruptionPause', { name: 'release-day' });
    await on.until('The command going on', async () => !(await isHeld()) && (await isTainted()), 120);

    stack.freeze('node-joiner', false);
    await on.runs('web', node);
    await on.until('The old claim gone', async () => (await kube.get('NodeClaim', { name })) === undefined, 240);
    await expect(on.workflow(command).result()).resolves.toMatchObject({ outcome: 'done' });
    const left = await on.claims();
    expect(left.map(({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type'])).toEqual(['c5.large']);
    expect((await cloud.instances()).filter(({ state }) => state === 'running')).toHaveLength(1);
  });
});

// Rule `budgets/records`.
describe('disrupt, terminated by hand after a person rejected one command and a node was removed', () => {
  test('a new disrupt proposes no rejected command again, and counts the removed node as a past disruption', async () => {
    const { kube } = on.world;
    // The node of before has nothing to do with it.
    const [other] = await kube.list('Node');
    await kube.patch('Node', { name: other?.metadata.name ?? '' }, { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } }); // prettier-ignore
    const policy = (spec: object) => kube.patch('DisruptionPolicy', { name: 'rules' }, { spec });
    await policy({ approval: [{}] });
    await deploy(on.world, 'big', { cpu: '1', memory: '30Gi' });
    const node = (await on.claimUnder('big')).status?.nodeName ?? '';
    await kube.delete('Deployment', { name: 'big', namespace: 'default' });
    const question = await observe(
      'The question about the empty node',
      async () => (await disrupt().query(runningQuery)).find(({ candidates }) => candidates.some((one) => one.node === node)), // prettier-ignore
      within(180),
      () => whyStays(node),
    );
    // It is asked once the move is validated.
    const isRejected = (): Promise<boolean> =>
      on
        .workflow(question.workflowId)
        .executeUpdate(rejectUpdate, { args: [{ actor: 'ann', reason: 'release' }] })
        .then(() => true)
        .catch(() => false);
    await on.until('The no taken', isRejected, 90);
    const refusal = 'rejected by ann (not authenticated) (release)';
    const isKept = async (): Promise<boolean> =>
      (await kube.get('NodePool', { name: pool }))?.metadata.annotations?.[annotations.disruptionRecords]?.includes(
        refusal,
      ) === true;
    await on.until('The NodePool saying so', isKept, 60);

    await loseDisrupt();
    await on.until('The node left alone', async () => (await whyStays(node)).includes(refusal), 120);
    expect((await disrupt().query(runningQuery)).filter(({ asks }) => asks === true)).toEqual([]);

    // What went before it was lost is all that may go.
    await policy({ approval: null, rates: rate('1') });
    const rests = async (): Promise<boolean> => (await whyStays(node)).includes('rate 1 in 24h (1 used)');
    await on.until('The rate reported', rests, 60);
    expect(await kube.get('Node', { name: node })).toBeDefined();
  });
});
