import { describe, expect, test } from '@jest/globals';
import { annotations, taints } from '../../api/labels.js';
import { workflowIds } from '../../core/ids.js';
import { hasTaint } from '../../core/taints.js';
import { runningQuery } from '../../workflows/messages.js';
import { createNodeClass, createNodePool, deploy } from '../live/world.js';
import { containment, instanceOf } from './containment.js';

// Who tainted a node is written on its claim: a `disrupt` that is begun anew takes over what is under way (candidates/left-over-taints).
const on = containment('adoption', async (world) => {
  await createNodeClass(world, 'default');
  await allow(['r5.2xlarge'], world);
});

/** A pool of these instance types alone; one node at a time may go. */
async function allow(types: readonly string[], world = on.world): Promise<void> {
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [...types] },
  ];
  const spec = { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1' }] } };
  await createNodePool(world, 'default', { template: { requirements }, spec });
}

const disrupt = (): ReturnType<typeof on.workflow> => on.workflow(workflowIds.disrupt(on.cluster));

describe('disrupt, terminated by hand while a command runs', () => {
  test('takes the command over: its node stays tainted and counts, and it is carried out', async () => {
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

    const { runId } = await disrupt().describe();
    await disrupt().terminate('containment test');
    const isAdopted = async (): Promise<boolean> => {
      if ((await disrupt().describe()).runId === runId) return false;
      const running = await disrupt().query(runningQuery);
      return running.some(
        ({ workflowId, candidates }) => workflowId === command && candidates.some((one) => one.node === node),
      );
    };
    await on.until('A new disrupt that knows of the command', () => isAdopted().catch(() => false), 150);
    expect([await owner(), await isTainted(), await on.isOpen(command)]).toEqual([command, true, true]);

    stack.freeze('node-joiner', false);
    await on.runs('web', node);
    await on.until('The old claim gone', async () => (await kube.get('NodeClaim', { name })) === undefined, 240);
    await expect(on.workflow(command).result()).resolves.toMatchObject({ outcome: 'done' });
    const left = await on.claims();
    expect(left.map(({ metadata }) => metadata.labels?.['node.kubernetes.io/instance-type'])).toEqual(['c5.large']);
    expect((await cloud.instances()).filter(({ state }) => state === 'running')).toHaveLength(1);
  }, 700_000);
});
