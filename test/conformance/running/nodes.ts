import type { Pod } from '../../../api/kubernetes.js';
import { finalizers, labels } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { conditionOf } from '../../../core/conditions.js';
import { nodeClaim } from '../../builders/activity-world.js';
import { minute, type Running } from './stage.js';

const lasting = ['Launched', 'Registered', 'Initialized'] as const;
const nodeClassLabel = 'karpenter.k8s.aws/ec2nodeclass';

interface NodeOptions {
  readonly claim?: Partial<NodeClaim['metadata']>;
  readonly spec?: object;
  /** Conditions of the claim that are True. */
  readonly conditions?: readonly string[];
  readonly node?: object;
  readonly isReady?: boolean;
  readonly withoutClaim?: boolean;
  readonly withoutInstance?: boolean;
  readonly withoutNode?: boolean;
}

export const providerIdOf = (name: string): string => `fake:///a/i-${name}`;

const stamp = (running: Running): string => new Date(running.now()).toISOString().replace('.000', '');

/** A node that is up, with claim and instance: Node `n1` of NodeClaim `n1`, unless something is left out. */
export function runningNode(running: Running, name = 'n1', options: NodeOptions = {}): void {
  const { kube, cloud } = running;
  const own = {
    [labels.nodePool]: 'default',
    [labels.instanceType]: 'm5.xlarge',
    [labels.zone]: 'a',
    [labels.capacityType]: 'on-demand',
    [labels.arch]: 'amd64',
    [labels.os]: 'linux',
    [nodeClassLabel]: 'default',
  };
  const providerID = providerIdOf(name);
  const resources = { cpu: '4', memory: '16Gi', pods: '58', 'ephemeral-storage': '20Gi' };
  const at = stamp(running);
  if (options.withoutClaim !== true) {
    const made = nodeClaim(name, {
      spec: options.spec ?? {},
      status: {
        ...{ providerID, nodeName: name, capacity: resources, allocatable: resources },
        conditions: (options.conditions ?? lasting).map((type) => ({
          ...{ type, status: 'True' as const, reason: type, message: '', lastTransitionTime: at },
        })),
      },
    });
    kube.put('NodeClaim', {
      ...made,
      metadata: {
        ...{ ...made.metadata, finalizers: [finalizers.termination], creationTimestamp: at },
        ...options.claim,
        labels: { ...own, ...options.claim?.labels },
      },
    });
  }
  if (options.withoutInstance !== true) {
    cloud.addOrphan({
      ...{ providerId: providerID, instanceId: `i-${name}`, instanceType: 'm5.xlarge', zone: 'a' },
      ...{ capacityType: 'on-demand', state: 'running', launchedAt: running.now(), labels: own },
      tags: { [labels.nodePool]: 'default', 'karpenter.sh/nodeclaim': name },
    } as never);
  }
  if (options.withoutNode !== true) {
    kube.put('Node', {
      metadata: {
        ...{ name, finalizers: [finalizers.termination], creationTimestamp: at },
        labels: { ...own, [labels.hostname]: name, [labels.registered]: 'true', [labels.initialized]: 'true' },
      },
      spec: { providerID },
      status: {
        ...{ capacity: resources, allocatable: resources },
        conditions: [{ type: 'Ready', status: options.isReady === false ? 'False' : 'True', lastTransitionTime: at }],
      },
      ...options.node,
    });
  }
}

interface PodOptions {
  readonly metadata?: object;
  readonly spec?: object;
  readonly phase?: string;
}

/** A pod that runs on `n1`. */
export function podOn(running: Running, name: string, { metadata, spec, phase }: PodOptions = {}): Pod {
  return running.kube.put('Pod', {
    metadata: {
      ...{ name, namespace: 'default', uid: `pod-${name}`, labels: { app: name } },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs', controller: true }],
      ...metadata,
    },
    spec: { nodeName: 'n1', containers: [], terminationGracePeriodSeconds: 30, ...spec },
    status: { phase: phase ?? 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  } as never);
}

/** Which of these pods are being deleted; those that are gone are left out. */
export const ending = (running: Running, ...names: readonly string[]): readonly string[] =>
  names.filter((name) => running.get('Pod', name)?.metadata.deletionTimestamp !== undefined);

/** The pods end, as by their kubelet. */
export function end(running: Running, ...names: readonly string[]): void {
  for (const name of names) running.kube.finishTermination({ name, namespace: 'default' });
}

/** Deletes a Node, and advances the time. */
export async function deleteNode(running: Running, name = 'n1', afterMs = 2000): Promise<void> {
  await running.kube.delete('Node', { name });
  await running.pass(afterMs);
}

/** `status/reason` of a condition of a claim. */
export function said(running: Running, type: string, name = 'n1'): string {
  const found = conditionOf(running.get('NodeClaim', name)?.status?.conditions, type);
  return found === undefined ? 'none' : `${found.status}/${found.reason ?? ''}`;
}

export const isThere = (running: Running, kind: 'Node' | 'NodeClaim', name = 'n1'): boolean =>
  running.get(kind, name) !== undefined;

/** What is left of the node after some time: its objects, and its instance. */
export async function left(running: Running, name = 'n1', afterMs = 2 * minute): Promise<string[]> {
  await running.pass(afterMs);
  const { cloud } = running;
  return [
    ...(isThere(running, 'Node', name) ? ['Node'] : []),
    ...(isThere(running, 'NodeClaim', name) ? ['NodeClaim'] : []),
    ...(cloud.peek().some(({ providerId }) => providerId === providerIdOf(name)) ? ['instance'] : []),
  ];
}
