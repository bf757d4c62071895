import type { Node } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { KubeClient } from '../../../kube/port.js';
import type { Setting } from '../stage.js';
import { observe, type ObserveOptions } from './observe.js';
import { deploymentOf } from '../deployment.js';

/** The demo's two kinds of pods: both want one CPU, red ones much more memory. */
const colours = {
  yellow: { cpu: '1', memory: '1G' },
  red: { cpu: '1', memory: '6G' },
} as const;
type Colour = keyof typeof colours;

const namespace = 'default';

/** Creates the deployment, or scales the one that is there. */
async function scale(kube: KubeClient, colour: Colour, replicas: number): Promise<void> {
  const { outcome } = await kube.create('Deployment', deploymentOf(colour, replicas, { ...colours[colour] }));
  if (outcome === 'created') return;
  await kube.patch('Deployment', { name: colour, namespace }, { spec: { replicas } });
}

/** Where the pods of both deployments run, by pod name; undefined while one of them does not run or is going. */
async function placement(kube: KubeClient): Promise<Map<string, { colour: Colour; node: string }> | undefined> {
  const wanted = new Map<Colour, number>();
  for (const { metadata, spec } of await kube.list('Deployment', { namespace })) {
    wanted.set(metadata.name as Colour, spec.replicas ?? 1);
  }
  const pods = await kube.list('Pod', { namespace });
  const placed = new Map<string, { colour: Colour; node: string }>();
  for (const { metadata, spec, status } of pods) {
    if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Running' || spec.nodeName === undefined) {
      return undefined;
    }
    placed.set(metadata.name ?? '', { colour: metadata.labels?.['app'] as Colour, node: spec.nodeName });
  }
  const complete = [...wanted].every(
    ([colour, replicas]) => [...placed.values()].filter((pod) => pod.colour === colour).length === replicas,
  );
  return complete ? placed : undefined;
}

/** The pods with their phase and node, for a message. */
async function describePods(kube: KubeClient): Promise<string> {
  const pods = await kube.list('Pod', { namespace });
  return pods
    .map(
      ({ metadata, spec, status }) =>
        `${metadata.name ?? ''} ${status?.phase ?? 'unknown'} on ${spec.nodeName ?? 'no node'}`,
    )
    .join(', ');
}

const minutes = (count: number): number => count * 60_000;

/** Plays the whole story; rejects at the first thing that is not observed. */
export async function playStory(stage: Setting): Promise<void> {
  await applyPool(stage);
  const first = await firstNode(stage);
  const second = await largerNode(stage, first);
  await emptyNodeGoes(stage, second);
  await interruption(stage, first);
}

function within(stage: Setting, count: number): ObserveOptions {
  return { withinMs: minutes(count), failure: stage.failure };
}

async function applyPool(stage: Setting): Promise<void> {
  const { kube, narrator } = stage;
  narrator.chapter('1. A NodePool and its node class');
  narrator.act('kubectl apply -f examples/nodepool.yaml');
  await stage.apply('examples/nodepool.yaml');
  const pool = await observe(
    'The NodePool becoming Ready',
    async () => {
      const found = await kube.get('NodePool', { name: 'default' });
      return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
        ? found
        : undefined;
    },
    within(stage, 2),
    async () => JSON.stringify((await kube.get('NodePool', { name: 'default' }))?.status?.conditions ?? []),
  );
  narrator.see(`NodePool ${pool.metadata.name ?? ''} is Ready`);
}

async function firstNode(stage: Setting): Promise<string> {
  const { narrator, kube } = stage;
  narrator.chapter('2. Two yellow pods (1 CPU, 1 GB) and one red pod (1 CPU, 6 GB) pend');
  narrator.act('creating the deployments yellow (2 replicas) and red (1 replica)');
  await Promise.all([scale(kube, 'yellow', 2), scale(kube, 'red', 1)]);
  const placed = await running(stage, 'The three pods running');
  const nodes = [...new Set([...placed.values()].map(({ node }) => node))];
  const [node] = nodes;
  if (node === undefined || nodes.length !== 1)
    throw new Error(`Expected one node for three pods, found ${nodes.join(', ')}.`);
  narrator.see(`all three run on one node: ${await describeNode(kube, node)}`);
  return node;
}

async function largerNode(stage: Setting, first: string): Promise<string> {
  const { narrator, kube } = stage;
  narrator.chapter('3. Two more red pods need more memory than is left');
  narrator.act('scaling red to 3 replicas');
  await scale(kube, 'red', 3);
  const placed = await running(stage, 'The five pods running');
  const added = [...new Set([...placed.values()].map(({ node }) => node))].filter((node) => node !== first);
  const [node] = added;
  if (node === undefined || added.length !== 1) throw new Error(`Expected one new node, found ${added.length}.`);
  narrator.see(`the new pods run on a new node: ${await describeNode(kube, node)}`);
  return node;
}

async function emptyNodeGoes(stage: Setting, node: string): Promise<void> {
  const { narrator, kube } = stage;
  const claim = await claimOf(kube, node);
  narrator.chapter('4. The deployment shrinks, and the empty node goes');
  narrator.act('scaling red back to 1 replica; consolidateAfter is 10 s, validation takes another 15 s');
  await scale(kube, 'red', 1);
  await running(stage, 'One red and two yellow pods running');
  await gone(stage, node, claim, 5);
  narrator.see(`${node} is gone: no node, no NodeClaim, no instance`);
}

async function interruption(stage: Setting, node: string): Promise<void> {
  const { narrator, kube, cloud } = stage;
  const claim = await claimOf(kube, node);
  const instanceId = instanceOf(claim);
  narrator.chapter('5. A spot interruption: two minutes to leave');
  const warned = Date.now();
  await cloud.interruptSpot(instanceId, { delayMs: minutes(2) });
  narrator.act(`EC2 warns on the queue: ${instanceId} (${node}) will be reclaimed in two minutes`);
  const placed = await observe(
    'The pods running on another node',
    async () => {
      const now = await placement(kube);
      return now !== undefined && now.size > 0 && [...now.values()].every((pod) => pod.node !== node) ? now : undefined;
    },
    { ...within(stage, 2), withinMs: minutes(2) },
    () => describePods(kube),
  );
  const [replacement] = [...placed.values()];
  if (replacement === undefined) throw new Error('No pod runs.');
  narrator.see(`the pods run on ${await describeNode(kube, replacement.node)}`);
  await gone(stage, node, claim, 2);
  const spare = (warned + minutes(2) - Date.now()) / 1000;
  if (spare < 0) throw new Error(`The node left ${(-spare).toFixed(0)} s after its two minutes were up.`);
  narrator.see(`${node} was replaced and drained with ${spare.toFixed(0)} s to spare`);
}

async function running(stage: Setting, what: string): Promise<Map<string, { colour: Colour; node: string }>> {
  const { kube } = stage;
  return observe(
    what,
    () => placement(kube),
    within(stage, 4),
    () => describePods(kube),
  );
}

async function gone(stage: Setting, node: string, claim: NodeClaim, count: number): Promise<void> {
  const { kube, cloud } = stage;
  const leftovers = async (): Promise<string[]> => {
    const left: string[] = [];
    if ((await kube.get('Node', { name: node })) !== undefined) left.push(`node ${node}`);
    const still = await kube.get('NodeClaim', { name: claim.metadata.name ?? '' });
    if (still !== undefined) left.push(`NodeClaim ${claim.metadata.name ?? ''}`);
    if (await cloud.isRunning(instanceOf(claim))) left.push(`instance ${instanceOf(claim)}`);
    return left;
  };
  await observe(
    `The end of ${node}`,
    async () => (await leftovers()).length === 0,
    within(stage, count),
    async () => `still there: ${(await leftovers()).join(', ')}`,
  );
}

/** Pods may run on a node a moment before its claim names it. */
async function claimOf(kube: KubeClient, node: string): Promise<NodeClaim> {
  return observe(
    `The NodeClaim of node ${node}`,
    async () => (await kube.list('NodeClaim')).find(({ status }) => status?.nodeName === node),
    { withinMs: 30_000 },
  );
}

/** `aws:///us-west-2a/i-0123` → `i-0123`. */
function instanceOf(claim: NodeClaim): string {
  return claim.status?.providerID?.split('/').at(-1) ?? '';
}

async function describeNode(kube: KubeClient, name: string): Promise<string> {
  const node: Node | undefined = await kube.get('Node', { name });
  const of = (key: string): string => node?.metadata.labels?.[key] ?? '?';
  return `${name}, ${of(labels.instanceType)} ${of(labels.capacityType)} in ${of(labels.zone)}`;
}
