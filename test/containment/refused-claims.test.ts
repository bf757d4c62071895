import { describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels, taints } from '../../api/labels.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { hasTaint } from '../../core/taints.js';
import { observe } from '../../devstack/demo/observe.js';
import { apply, kubectl } from '../live/kubectl.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from '../live/world.js';
import { denying } from './denying.js';
import { containment } from './containment.js';

// What the API server refuses for one object costs others nothing, is told where its owner looks, and is tried again.

const on = containment('refused', async (world) => {
  await createNodeClass(world, 'default');
});

const acceptedOf = ({ status }: NodePool) => conditionOf(status?.conditions, 'NodeClaimsAccepted');

async function poolOf(app: string): Promise<string | undefined> {
  const name = await nodeOf(on.world, app);
  const node = name === undefined ? undefined : await on.world.kube.get('Node', { name });
  return node?.metadata.labels?.[labels.nodePool];
}

let deployed = 0;
let last: string | undefined;

/** Another pod of its own size, once the one before runs. */
async function deployNext(name: string): Promise<void> {
  if (last !== undefined && (await poolOf(last)) === undefined) return;
  deployed += 1;
  last = `${name}-${deployed}`;
  await deploy(on.world, last, { cpu: '6', memory: '6Gi' });
}

const runIds = async (): Promise<readonly string[]> =>
  Promise.all(
    [workflowIds.provision(on.cluster), workflowIds.disrupt(on.cluster)].map(
      async (id) => (await on.client.workflow.getHandle(id).describe()).raw.workflowExecutionInfo?.firstRunId ?? '',
    ),
  );

describe('what the API server refuses', () => {
  test('NodeClaims of a NodePool: their pods get nodes of another, and the pool says why it rests', async () => {
    await createNodePool(on.world, 'preferred', { spec: { weight: 50, disruption: { consolidateAfter: 'Never' } } });
    await createNodePool(on.world, 'other', { spec: { disruption: { consolidateAfter: 'Never' } } });
    const ofOthers = `!has(object.metadata.labels) || object.metadata.labels['${labels.nodePool}'] != 'preferred'`;
    const creations = { apiGroup: 'karpenter.sh', resource: 'nodeclaims', operations: ['CREATE'] };
    await apply(on.world.stack, denying('no-preferred', creations, ofOthers));

    // A policy takes effect a moment after it is created: pods come until one is turned away.
    const pool = await observe(
      'NodePool preferred at rest',
      async () => {
        const live = await on.world.kube.get('NodePool', { name: 'preferred' });
        if (live !== undefined && acceptedOf(live)?.status === 'False') return live;
        await deployNext('web');
        return undefined;
      },
      within(240),
    );
    expect(acceptedOf(pool)).toMatchObject({ reason: 'NodeClaimRefused' });
    expect(acceptedOf(pool)?.message).toContain('no-preferred says no');

    await deploy(on.world, 'late', { cpu: '6', memory: '6Gi' });
    expect(await observe('The pod running', () => poolOf('late'), within(180))).toBe('other');

    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicybinding', 'no-preferred']);
    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicy', 'no-preferred']);
    await observe(
      'NodePool preferred in use again',
      async () => {
        const live = await on.world.kube.get('NodePool', { name: 'preferred' });
        if (live !== undefined && acceptedOf(live) === undefined) return true;
        await deployNext('again');
        return undefined;
      },
      within(300),
    );
  }, 900_000);

  test('the taint of one node: the other nodes are consolidated, and nothing fails', async () => {
    const firstRuns = await runIds();
    const claims = (await on.world.kube.list('NodeClaim')).filter(({ status }) =>
      isTrue(status?.conditions, 'Initialized'),
    );
    const kept = claims[0]?.status?.nodeName ?? '';
    const writes = { apiGroup: '', resource: 'nodes', operations: ['UPDATE'] };
    const keepsTaints = `object.metadata.name != '${kept}' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == '${taints.disrupted.key}')`;
    await apply(on.world.stack, denying('keep-node', writes, keepsTaints));
    const consolidate = { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } };
    for (const name of ['preferred', 'other']) await on.world.kube.patch('NodePool', { name }, { spec: consolidate });

    for (const { metadata } of await on.world.kube.list('Deployment', { namespace: 'default' })) {
      await kubectl(on.world.stack, ['delete', 'deployment', metadata.name ?? '']);
    }
    await observe(
      'Only the node that may not be tainted left',
      async () => {
        const nodes = await on.world.kube.list('Node', { labelSelector: labels.nodePool });
        return nodes.length === 1 && nodes[0]?.metadata.name === kept ? true : undefined;
      },
      within(300),
      async () => (await on.world.kube.list('Node')).map(({ metadata }) => metadata.name).join(),
    );
    const node = await on.world.kube.get('Node', { name: kept });
    expect(node === undefined || hasTaint(node, taints.disrupted)).toBe(false);

    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicybinding', 'keep-node']);
    await observe(
      'The last node gone',
      async () =>
        (await on.world.kube.list('Node', { labelSelector: labels.nodePool })).length === 0 ? true : undefined,
      within(300),
    );
    expect(await runIds()).toEqual(firstRuns);
  }, 900_000);
});
