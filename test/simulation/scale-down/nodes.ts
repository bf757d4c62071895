import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Condition, Node } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { EvictionOrder } from '../../../activities/termination/pod-evictor.js';
import { quantitiesOf } from '../../../activities/claim-status.js';
import { podsToNominate } from '../../../cluster/planned-pods.js';
import { withCondition } from '../../../core/conditions.js';
import { isDrainable } from '../../../core/pods.js';
import { latencies } from './latencies.js';
import type { World } from './world.js';

/** Launches the instance of a claim, and resolves when its node is initialized. */
export async function launch(world: World, name: string): Promise<void> {
  const { cache, clock, deps, kube, random } = world;
  const { from, to } = latencies.launchMs;
  await clock.sleep(random.int(from, to) / 2);
  const claim = (await kube.get('NodeClaim', { name }))!;
  const nodeClass = cache.get('KWOKNodeClass', { name: claim.spec.nodeClassRef.name })!;
  const launched = await deps.cloud.launch({ claim, nodeClass, clientToken: name });
  if (!launched.ok) throw new Error(`${name} was not launched: ${launched.error.message}`);
  const { providerId, capacity, allocatable } = launched.value;
  const conditions = claim.status?.conditions;
  await kube.patch(
    'NodeClaim',
    { name },
    { metadata: { labels: { ...launched.value.labels, ...claim.metadata.labels } } },
  );
  const status = {
    providerID: providerId,
    capacity: quantitiesOf(capacity),
    allocatable: quantitiesOf(allocatable),
    conditions,
  };
  await kube.patch('NodeClaim', { name }, { status }, { subresource: 'status' });
  await clock.sleep(random.int(from, to) / 2);
  await initialise(world, name, providerId);
}

async function initialise(world: World, name: string, providerId: string): Promise<void> {
  const { clock, kube, cache } = world;
  const nodeName = cache.nodeByProviderId(providerId)?.metadata.name ?? '';
  await nominate(world, name, nodeName);
  const at = { now: clock.now };
  const ready = withCondition(undefined, { type: 'Ready', status: 'True' }, at);
  await kube.patch('Node', { name: nodeName }, { status: { conditions: ready } }, { subresource: 'status' });
  let conditions: Condition[] = [];
  for (const type of ['Launched', 'Registered', 'Initialized']) {
    conditions = withCondition(conditions, { type, status: 'True' }, at);
  }
  await kube.patch('NodeClaim', { name }, { status: { nodeName, conditions } }, { subresource: 'status' });
  const own = { [labels.registered]: 'true', [labels.initialized]: 'true' };
  await kube.patch('Node', { name: nodeName }, { metadata: { labels: own }, spec: { taints: [] } });
}

/** Pods of the plan that still wait are nominated to the node before it takes any. */
async function nominate({ cache, kube }: World, claim: string, nominatedNodeName: string): Promise<void> {
  for (const key of podsToNominate(cache.get('NodeClaim', { name: claim })!)) {
    const [namespace = '', name = ''] = key.split('/');
    const pod = cache.get('Pod', { namespace, name });
    if (pod === undefined || (pod.spec.nodeName ?? '') !== '') continue;
    await kube.patch('Pod', { namespace, name }, { status: { nominatedNodeName } }, { subresource: 'status' });
  }
}

/** Evicts the pods of the node, as drains do, and ends it. */
export async function terminate(world: World, claim: string, node: string): Promise<void> {
  const { clock, cache, kube, random } = world;
  const order = new EvictionOrder();
  const { atOnce, tookMs } = latencies.evictions;
  for (;;) {
    const { status } = cache.get('Node', { name: node }) as Node;
    const pods = order.sort(
      cache.podsOnNode(node).filter((pod) => isDrainable(pod, clock.now)),
      status?.allocatable,
    );
    if (pods.length === 0) break;
    for (const { metadata } of pods.slice(0, atOnce)) {
      await kube.evict({ namespace: 'default', name: metadata.name ?? '', uid: metadata.uid ?? '' });
    }
    await clock.sleep(tookMs);
  }
  await clock.sleep(random.int(latencies.terminationMs.from, latencies.terminationMs.to));
  kube.remove('Node', { name: node });
  kube.remove('NodeClaim', { name: claim });
  await clock.sleep(0);
}

/** Says in the API server that the node, which is tainted, and its claim are on their way out. */
export async function beginEnd({ kube }: World, claim: string, node: string): Promise<void> {
  await kube.delete('NodeClaim', { name: claim });
  await kube.delete('Node', { name: node });
}

/** Dollars an hour of the offering that the claim was launched as; 0 before it is. */
export const priceOf = ({ metadata }: NodeClaim): number =>
  Number(metadata.labels?.['eks-node-viewer/instance-price'] ?? 0);
