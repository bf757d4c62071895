import type { CapacityBuffer } from '../../api/autoscaling/capacity-buffer.js';
import type { Pod } from '../../api/kubernetes.js';
import { withCondition } from '../../core/conditions.js';
import type { ConditionChange } from '../../core/conditions.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import {
  bufferOfPod,
  bufferPods,
  isActive,
  resolveBuffer,
  type Resolved,
  type Unresolved,
} from '../../packing/compile/buffers.js';
import type { Plan, ExcludedObject } from '../../packing/types.js';
import type { ActivityDeps } from '../deps.js';
import { managedPools } from '../../cluster/cluster.js';
import { buffersOf, packingInput } from '../../cluster/packing-input.js';
import { messageOf } from '../../core/error-message.js';
import { placementOf } from '../placement.js';
import { publishExcluded } from '../publish-excluded.js';
import { fullName } from '../../core/names.js';

/**
 * Writes the status of each CapacityBuffer (capacity-buffers/status): how many virtual pods it has, and whether they
 * fit on existing nodes. Only informative, so a failed write does not hold up a launch.
 */
export async function writeBufferStatus(deps: ActivityDeps, plan: Plan): Promise<void> {
  if (!deps.gates.CapacityBuffer) return;
  const objects = buffersOf(deps);
  for (const buffer of objects.capacityBuffers) {
    try {
      // The next pass writes the status of a buffer whose pods were deferred to it.
      const isDeferred = plan.deferred?.some((pod) => bufferOfPod(pod) === keyOf(buffer)) === true;
      if (!isActive(buffer) || isDeferred) continue;
      const resolved = resolveBuffer(objects, buffer);
      await write(deps, buffer, resolved, changesFor(resolved, placesOf(plan, buffer)));
    } catch (error) {
      const { namespace, name } = buffer.metadata;
      deps.log.warn({ buffer: `${namespace ?? ''}/${name ?? ''}`, error: messageOf(error) }, 'cannot write its status');
    }
  }
}

/**
 * Adds the virtual pods of buffers to the nodes on which a plan for the cluster places them: such a node is not empty
 * (capacity-buffers/nodes-are-not-empty, consolidation/empty-nodes). Plans only if there are buffers.
 */
export async function withBufferPods(deps: ActivityDeps, views: readonly NodeView[]): Promise<readonly NodeView[]> {
  if (!deps.gates.CapacityBuffer || views.length === 0) return views;
  const virtual = new Map(readablePods(deps).map((pod) => [fullName(pod), pod]));
  if (virtual.size === 0) return views;
  const hosted = await hostsOf(deps, new Set(virtual.keys()));
  return views.map((view) => {
    const hostedHere = (hosted.get(view.node?.metadata.name ?? '') ?? []).flatMap((key) => virtual.get(key) ?? []);
    return hostedHere.length === 0 ? view : { ...view, pods: [...view.pods, ...hostedHere] };
  });
}

/** The virtual pods of all buffers that are not excluded (scheduling/objects-left-out). */
function readablePods(deps: ActivityDeps): readonly Pod[] {
  const objects = buffersOf(deps);
  const excluded: ExcludedObject[] = [];
  const pods = objects.capacityBuffers.flatMap((buffer) => {
    try {
      return bufferPods({ ...objects, capacityBuffers: [buffer] });
    } catch (error) {
      const { namespace = '', name = '' } = buffer.metadata;
      excluded.push({ kind: 'CapacityBuffer', name: `${namespace}/${name}`, error: messageOf(error) });
      return [];
    }
  });
  publishExcluded(deps, 'Disruption', excluded);
  return pods;
}

/**
 * The virtual pods by the node that they fit on. Pods that a plan left out are planned again: a node counts as empty
 * only once all are known not to be on it.
 */
async function hostsOf(deps: ActivityDeps, pods: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly string[]>> {
  const input = await packingInput(deps, managedPools(deps));
  const hosted = new Map<string, string[]>();
  for (let asked = pods; asked.size > 0;) {
    const { places } = await placementOf(deps, input, asked);
    for (const [pod, place] of places)
      if (place.state === 'existing') hosted.set(place.node, [...(hosted.get(place.node) ?? []), pod]);
    const left = [...places].filter(([, { state }]) => state === 'deferred').map(([pod]) => pod);
    // Each plan has to consider some of the pods, or this would never end.
    if (left.length === asked.size)
      throw new Error(`planning does not reach pods of CapacityBuffers: ${left.slice(0, 3).join(', ')}`);
    asked = new Set(left);
  }
  return hosted;
}

/** How many pods of a buffer fit on existing nodes, and how many on nodes to be launched. */
export interface Places {
  readonly existing: number;
  readonly launched: number;
}

const keyOf = ({ metadata }: CapacityBuffer): string => `${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`;

function placesOf(plan: Plan, buffer: CapacityBuffer): Places {
  const key = keyOf(buffer);
  const count = (parts: readonly { readonly pods: readonly string[] }[]): number =>
    parts.reduce((sum, { pods }) => sum + pods.filter((pod) => bufferOfPod(pod) === key).length, 0);
  return { existing: count(plan.existingNodes), launched: count(plan.newNodeClaims) };
}

/** The conditions that Karpenter writes, with its reasons (capacity-buffers/status). */
export function changesFor(
  resolved: Resolved | Unresolved,
  { existing, launched }: Places,
): readonly ConditionChange[] {
  const ready = 'ReadyForProvisioning';
  const type = 'Provisioning';
  if ('reason' in resolved) {
    const { reason, message } = resolved;
    return [
      { type: ready, status: 'False', reason, message },
      { type, status: 'False', reason: 'NotReadyForProvisioning', message },
    ];
  }
  const { size } = resolved;
  const isReady: ConditionChange = { type: ready, status: 'True', reason: 'Resolved' };
  if (size === 0)
    return [isReady, { type, status: 'False', reason: 'BufferEmpty', message: 'the buffer asks for no capacity' }];
  if (existing === size) {
    const message = `all ${size} fit on existing nodes`;
    return [isReady, { type, status: 'True', reason: 'FitsExistingCapacity', message }];
  }
  const message = `${existing} of ${size} fit on existing nodes, ${launched} on nodes to be launched`;
  return [isReady, { type, status: 'False', reason: 'RequiresNewCapacity', message }];
}

async function write(
  { kube, now }: ActivityDeps,
  buffer: CapacityBuffer,
  resolved: Resolved | Unresolved,
  changes: readonly ConditionChange[],
): Promise<void> {
  const { name = '', namespace = 'default', generation } = buffer.metadata;
  let conditions = buffer.status?.conditions ?? [];
  for (const change of changes) conditions = withCondition(conditions, change, { now: now(), generation });
  const { provisioningStrategy, podTemplateRef } = buffer.spec;
  const found = 'reason' in resolved ? undefined : resolved;
  const status = {
    ...buffer.status,
    replicas: found?.size ?? 0,
    provisioningStrategy,
    conditions,
    ...(podTemplateRef !== undefined && { podTemplateRef }),
    ...(found?.generation !== undefined && { podTemplateGeneration: found.generation }),
  };
  if (JSON.stringify(status) === JSON.stringify(buffer.status)) return;
  await kube.patch('CapacityBuffer', { name, namespace }, { status }, { subresource: 'status' });
}
