import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels, taints } from '../../api/labels.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { workflowIds } from '../../core/ids.js';
import { hasTaint } from '../../core/taints.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { apply, kubectl } from '../live/kubectl.js';
import { createNodeClass, createNodePool, deploy, nodeOf, within } from '../live/world.js';
import { answerIn } from '../situations/people.js';
import { environmentOf, stowageHere } from '../situations/stowage.js';
import { status } from './answers.js';
import { denying } from './denying.js';
import { refusalText, startRefusingWebhook, webhookOf, type RefusingWebhook } from './refusing-webhook.js';
import { sharedContainment } from './containment.js';

// What the API server refuses for one object does not affect others, is reported where its owner looks, and is tried again.

const on = sharedContainment(async (world) => {
  Object.assign(process.env, environmentOf(world));
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

/** Another pod, with other requests, once the one before runs. */
async function deployNext(name: string): Promise<void> {
  if (last !== undefined && (await poolOf(last)) === undefined) return;
  deployed += 1;
  last = `${name}-${deployed}`;
  await deploy(on.world, last, { cpu: '6', memory: '6Gi' });
}

/** A pod that only nodes of the NodePool can take. */
async function deployTo(pool: string, name: string, requests = { cpu: '6', memory: '6Gi' }): Promise<void> {
  const deployment = deploymentOf(name, 1, requests) as { spec: { template: { spec: object } } };
  Object.assign(deployment.spec.template.spec, { nodeSelector: { [labels.nodePool]: pool } });
  await on.world.kube.create('Deployment', deployment as never);
}

/** Its pod, as `stowage why` takes it. */
async function podOf(app: string): Promise<string> {
  const look = async (): Promise<string | undefined> =>
    (await on.world.kube.list('Pod', { namespace: 'default', labelSelector: `app=${app}` }))[0]?.metadata.name;
  return `pod/${await observe(`The pod of ${app}`, look, within(60))}`;
}

/** What `stowage why` answers, once it says this. */
async function explained(subject: string, says: RegExp): Promise<string> {
  let last = '';
  return observe(
    `stowage why ${subject} says ${String(says)}`,
    async () => {
      last = answerIn(await stowageHere('why', subject, '-o', 'json'));
      return says.test(last) ? last : undefined;
    },
    within(120),
    () => Promise.resolve(last),
  );
}

const runIds = async (): Promise<readonly string[]> =>
  Promise.all(
    [workflowIds.provision(on.cluster), workflowIds.disrupt(on.cluster)].map(
      async (id) => (await on.client.workflow.getHandle(id).describe()).raw.workflowExecutionInfo?.firstRunId ?? '',
    ),
  );

describe('writes that the API server refuses', () => {
  let webhook: RefusingWebhook;
  beforeAll(async () => {
    webhook = await startRefusingWebhook(on.world.stack);
  });
  afterAll(async () => webhook.stop());

  test('creating NodeClaims refused with 403, 400, 422, 500 or 503: pods get nodes of another NodePool, and the refused one backs off with the reason', async () => {
    const never = { disruption: { consolidateAfter: 'Never' } };
    await createNodePool(on.world, 'preferred', { spec: { weight: 50, ...never } });
    const answered = [400, 422, 500, 503].map((code) => ({ name: `answered-${code}`, code }));
    for (const [index, { name }] of answered.entries()) {
      await createNodePool(on.world, name, { spec: { weight: 40 - index, ...never } });
    }
    await createNodePool(on.world, 'other', { spec: never });
    const ofOthers = `!has(object.metadata.labels) || object.metadata.labels['${labels.nodePool}'] != 'preferred'`;
    const creations = { apiGroup: 'karpenter.sh', resource: 'nodeclaims', operations: ['CREATE'] };
    await apply(on.world.stack, [
      ...denying('no-preferred', creations, ofOthers),
      ...answered.map(({ name, code }) => webhook.refusesClaimsOf(name, code)),
    ]);

    // What refuses takes effect a moment after it is created: pods come until each has turned one away.
    const refusing = ['preferred', ...answered.map(({ name }) => name)];
    const pools = await observe(
      'Every NodePool that is refused at rest',
      async () => {
        const live = (await on.world.kube.list('NodePool')).filter((pool) => acceptedOf(pool)?.status === 'False');
        if (live.length === refusing.length) return live;
        await deployNext('web');
        return undefined;
      },
      within(240),
    );
    const said = new Map(pools.map((pool) => [pool.metadata.name, acceptedOf(pool)]));
    expect([...said.values()].map((condition) => condition?.reason)).toEqual(refusing.map(() => 'NodeClaimRefused'));
    expect(said.get('preferred')?.message).toContain('no-preferred says no');
    for (const { name, code } of answered) expect(said.get(name)?.message).toContain(refusalText(code));

    await deploy(on.world, 'late', { cpu: '6', memory: '6Gi' });
    expect(await observe('The pod running', () => poolOf('late'), within(180))).toBe('other');

    // A pod that only a refused NodePool fits gets an event with the cause.
    await deployTo('answered-422', 'bound');
    const why = await explained(
      await podOf('bound'),
      /backs off until \S+, because the API server refused a NodeClaim: .*the webhook says 422/,
    );
    expect(why).not.toContain('is launched');
    const report = await status(on.world);
    for (const { name, code } of answered) expect(report).toMatch(new RegExp(`^${name} .*${refusalText(code)}`, 'm'));
    expect(report).toMatch(/^preferred .*no-preferred says no/m);

    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicybinding', 'no-preferred']);
    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicy', 'no-preferred']);
    for (const { name } of answered) await kubectl(on.world.stack, ['delete', 'validatingwebhookconfiguration', webhookOf(name)]); // prettier-ignore
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
    expect(await observe('The pod that was bound to a pool running', () => poolOf('bound'), within(240))).toBe(
      'answered-422',
    );
  });

  test('creating a replacement refused: its candidate is tainted, untainted and backs off, `why` gives the reason, and it is consolidated once creation is allowed', async () => {
    const types = (...values: string[]): object => ({
      template: {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: 'node.kubernetes.io/instance-type', operator: 'In', values },
        ],
      },
      spec: { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } },
    });
    await createNodePool(on.world, 'moved', types('r5.2xlarge') as { spec: object });
    await deployTo('moved', 'moving', { cpu: '500m', memory: '512Mi' });
    const node = await on.runs('moving');
    await apply(on.world.stack, [webhook.refusesClaimsOf('moved', 422)]);
    await createNodePool(on.world, 'moved', types('r5.2xlarge', 'c5.large') as { spec: object });

    const wasTainted = async (): Promise<boolean> =>
      (await on.world.kube.list('Event', { namespace: 'default' })).some(
        ({ involvedObject, reason }) => involvedObject.name === node && reason === 'DisruptionTerminating',
      );
    await on.until('The node tainted for the move', wasTainted, 180);
    const rested = await explained(`node/${node}`, /the webhook says 422/);
    expect(rested).toMatch(/^stays: /);
    const isTainted = async (): Promise<boolean> => {
      const found = await on.world.kube.get('Node', { name: node });
      return found === undefined || hasTaint(found, taints.disrupted);
    };
    await on.until('The node given back', async () => !(await isTainted()), 60);
    expect(await nodeOf(on.world, 'moving')).toBe(node);
    expect(await status(on.world)).toMatch(/^moved .*the webhook says 422/m);

    await kubectl(on.world.stack, ['delete', 'validatingwebhookconfiguration', webhookOf('moved')]);
    await on.runs('moving', node);
  });

  test('tainting one node refused: the other nodes are consolidated, and no workflow fails', async () => {
    const firstRuns = await runIds();
    const claims = (await on.world.kube.list('NodeClaim')).filter(({ status }) =>
      isTrue(status?.conditions, 'Initialized'),
    );
    const kept = claims[0]?.status?.nodeName ?? '';
    const writes = { apiGroup: '', resource: 'nodes', operations: ['UPDATE'] };
    const keepsTaints = `object.metadata.name != '${kept}' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == '${taints.disrupted.key}')`;
    await apply(on.world.stack, denying('keep-node', writes, keepsTaints));
    const consolidate = { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } };
    for (const { metadata } of await on.world.kube.list('NodePool')) {
      await on.world.kube.patch('NodePool', { name: metadata.name ?? '' }, { spec: consolidate });
    }

    for (const { metadata } of await on.world.kube.list('Deployment', { namespace: 'default' })) {
      await kubectl(on.world.stack, ['delete', 'deployment', metadata.name ?? '']);
    }
    await observe(
      'Only the node that may not be tainted left',
      async () => {
        const nodes = await on.world.kube.list('Node', { labelSelector: labels.nodePool });
        return nodes.length === 1 && nodes[0]?.metadata.name === kept;
      },
      within(300),
      async () => (await on.world.kube.list('Node')).map(({ metadata }) => metadata.name).join(),
    );
    const node = await on.world.kube.get('Node', { name: kept });
    expect(node === undefined || hasTaint(node, taints.disrupted)).toBe(false);

    await kubectl(on.world.stack, ['delete', 'validatingadmissionpolicybinding', 'keep-node']);
    await observe(
      'The last node gone',
      async () => (await on.world.kube.list('Node', { labelSelector: labels.nodePool })).length === 0,
      within(300),
    );
    expect(await runIds()).toEqual(firstRuns);
  });
});
