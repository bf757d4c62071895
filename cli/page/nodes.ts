import type { Node, Pod } from '../../api/kubernetes.js';
import { annotations, labels, taints } from '../../api/labels.js';
import type { ClusterDeps } from '../../cluster/deps.js';
import { requestsOf } from '../../cluster/cluster.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { interruptionNoteOf } from '../../cluster/interruption-note.js';
import { labelsOf } from '../../cluster/node-labels.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { Pause } from '../../workflows/messages.js';
import { pauseStops } from '../../core/pause-scope.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { isNodeMarkedDoNotDisrupt } from '../../core/do-not-disrupt.js';
import { controllerOf, kindOf } from '../../core/owners.js';
import { isNodeBound, isTerminal } from '../../core/pods.js';
import { parseResources } from '../../core/quantities.js';
import { hasTaint } from '../../core/taints.js';
import { isDeleting } from '../../core/names.js';
import { launchStateOf } from '../status-objects.js';
import type { Amounts, NodePod, PageNode } from './snapshot.js';

const mebibyte = 2 ** 20;

/** Dollars per hour; 0 if unknown. */
type DrawnNode = Pick<NodeView, 'claim' | 'node' | 'pods' | 'pricePerHour'>;

type Requests = ReadonlyMap<string, number>;

function amountsOf(requests: Requests): Amounts {
  let gpus = 0;
  for (const [name, amount] of requests) if (name.endsWith('.com/gpu')) gpus += amount;
  return [requests.get('cpu') ?? 0, Math.round((requests.get('memory') ?? 0) / mebibyte), gpus];
}

/** Above this number most names are of ended Jobs: the list starts again. */
const mostWorkloads = 20_000;

/**
 * The nodes as the page draws them. Names of workloads are listed once, since thousands of pods share them, and keep
 * their index from one snapshot to the next.
 */
export class PageNodes {
  readonly workloads: string[] = [];
  private readonly index = new Map<string, number>();

  /** Nodes as `viewsWith` gives them; a price of 0 is not known. */
  read(views: readonly DrawnNode[], pauses: readonly Pause[]): PageNode[] {
    if (this.workloads.length > mostWorkloads) {
      this.workloads.length = 0;
      this.index.clear();
    }
    return views.map((view) => this.nodeOf(view, pauses));
  }

  private nodeOf({ claim, node, pods, pricePerHour }: DrawnNode, pauses: readonly Pause[]): PageNode {
    const { nodePool: pool, instanceType: type, zone, capacityType } = labelsOf(claim);
    const name = node?.metadata.name ?? claim.metadata.name ?? '';
    const wait = waitOf(claim);
    const isPaused = pauses.some(({ scope }) => pauseStops(scope, '', { node: name, nodePool: pool }));
    return {
      ...{ name, claim: claim.metadata.name ?? '', pool, type, zone, capacityType, pricePerHour },
      created: Date.parse(claim.metadata.creationTimestamp ?? '') || 0,
      state: stateOf(claim, node),
      marks: [...marksOf(claim, node), ...(isPaused ? ['paused' as const] : [])],
      allocatable: amountsOf(
        new Map(Object.entries(parseResources(node?.status?.allocatable ?? claim.status?.allocatable))),
      ),
      ...this.podsOn(pods),
      ...(wait === undefined ? {} : { waits: `${wait.reason}: ${wait.why}` }),
    };
  }

  private podsOn(pods: readonly Pod[]): Pick<PageNode, 'daemons' | 'pods'> {
    const daemons: Amounts = [0, 0, 0];
    const equal = new Map<string, PageNode['pods'][number]>();
    for (const pod of pods) {
      if (isTerminal(pod)) continue;
      const size = amountsOf(requestsOf(pod));
      if (isNodeBound(pod)) {
        for (let i = 0; i < 3; i++) daemons[i]! += size[i]!;
        continue;
      }
      const workload = this.workloadOf(pod);
      const key = `${workload} ${size.join()}`;
      const known = equal.get(key);
      if (known === undefined) equal.set(key, [workload, 1, ...size]);
      else known[1] += 1;
    }
    return { daemons, pods: [...equal.values()].sort((a, b) => a[0] - b[0] || b[2] - a[2]) };
  }

  private workloadOf(pod: Pod): number {
    const name = workloadName(pod);
    let index = this.index.get(name);
    if (index === undefined) this.index.set(name, (index = this.workloads.push(name) - 1));
    return index;
  }
}

/** `namespace/Kind/name`; the Deployment of a ReplicaSet, whose name is that without the hash. */
export function workloadName(pod: Pod): string {
  const { namespace = 'default', name = '', labels: own } = pod.metadata;
  const owner = controllerOf(pod);
  if (owner === undefined) return `${namespace}/Pod/${name}`;
  const hash = own?.['pod-template-hash'];
  if (kindOf(owner) === 'ReplicaSet.apps' && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return `${namespace}/Deployment/${owner.name.slice(0, -hash.length - 1)}`;
  return `${namespace}/${owner.kind}/${owner.name}`;
}

function stateOf(claim: NodeClaim, node: Node | undefined): PageNode['state'] {
  if (isDeleting(claim)) return 'draining';
  const state = launchStateOf(claim.status?.conditions);
  return state === 'ready' && !isTrue(node?.status?.conditions, 'Ready') ? 'not ready' : state;
}

function marksOf(claim: NodeClaim, node: Node | undefined): PageNode['marks'] {
  const marks: PageNode['marks'] = [];
  if (interruptionNoteOf(claim) !== undefined) marks.push('interrupted');
  if (isTrue(claim.status?.conditions, 'Drifted')) marks.push('drifted');
  if (node !== undefined && hasTaint(node, taints.disrupted)) marks.push('tainted');
  if (claim.metadata.annotations?.[annotations.disruptionWait] !== undefined) marks.push('waiting');
  if (isNodeMarkedDoNotDisrupt(node)) marks.push('do-not-disrupt');
  if (claim.metadata.labels?.[labels.capacityType] === 'reserved') marks.push('reserved');
  return marks;
}

/** The pods of a node with their requests, largest first. */
export function nodePods({ cache }: Pick<ClusterDeps, 'cache'>, node: string): readonly NodePod[] {
  return cache
    .podsOnNode(node)
    .filter((pod) => !isTerminal(pod))
    .map((pod) => ({
      name: `${pod.metadata.namespace ?? 'default'}/${pod.metadata.name ?? ''}`,
      workload: workloadName(pod),
      requests: amountsOf(requestsOf(pod)),
      isDaemon: isNodeBound(pod),
    }))
    .sort((a, b) => b.requests[0] - a.requests[0]);
}

/** Dollars per hour. */
export function pricesByPool(nodes: readonly PageNode[]): Record<string, number> {
  const byPool = new Map<string, number>();
  for (const { pool, pricePerHour } of nodes) byPool.set(pool, (byPool.get(pool) ?? 0) + pricePerHour);
  return Object.fromEntries(byPool);
}
