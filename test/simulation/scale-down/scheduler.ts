import type { Node, Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { isTrue } from '../../../core/conditions.js';
import { parseResources } from '../../../core/quantities.js';
import { podRequests, QuantityReader } from '../../../packing/compile/pod-requests.js';
import { Flag, Inbox } from './clock.js';
import { latencies } from './latencies.js';
import { priorityOf, victimsOf } from './preemption.js';
import { hasRules, isAdmitted, noVolumes, volumesIn, type Surroundings } from './scheduling-rules.js';
import {
  favourites,
  fits,
  resourceNames,
  type Amounts,
  type SchedulerNode,
  type SchedulerPod,
} from './scheduler-scores.js';
import type { ClusterParts } from './world.js';
import { fullName, isDeleting } from '../../../core/names.js';

/** kube-scheduler: binds one pod after the other; those that fit nowhere are tried again when something has changed. */
export class Scheduler {
  /** Set when a pod was found to fit nowhere. */
  readonly refused = new Flag();
  private readonly quantities = new QuantityReader();
  private readonly read = new Map<string, SchedulerPod>();
  private readonly queue = new Inbox<string>();
  private unschedulable = new Set<string>();
  private isRetrying = false;
  private suspendedUntil = 0;
  private readonly unwanted = new Set<string>();

  constructor(private readonly world: ClusterParts) {
    const { cache } = world;
    cache.on('Pod', ({ type, object, previous }) => {
      if (type === 'deleted') this.retry();
      // One that was bound is unbound again where the cluster is restored from a backup.
      else if (isUnbound(object) && (previous === undefined || !isUnbound(previous))) this.queue.add(fullName(object));
    });
    cache.on('Node', () => this.retry());
  }

  /** Binds pods until the simulation ends. */
  async follow(): Promise<never> {
    for (;;) {
      const key = await this.queue.next();
      const { clock } = this.world;
      await clock.sleep(latencies.bindMs);
      while (clock.now < this.suspendedUntil) await clock.sleep(this.suspendedUntil - clock.now);
      await this.schedule(key);
    }
  }

  /** Binds nothing and refuses nothing for so long, milliseconds, and goes on where it was. */
  suspend(forMs: number): void {
    this.suspendedUntil = Math.max(this.suspendedUntil, this.world.clock.now + forMs);
  }

  /** Refuses the pods of an app wherever there is room for them, for reasons that only it knows. The returned function ends that. */
  refuseAll(app: string): () => void {
    this.unwanted.add(app);
    return () => {
      this.unwanted.delete(app);
      this.retry();
    };
  }

  refusesEverywhere({ metadata }: Pod): boolean {
    return this.unwanted.has(metadata.labels?.['app'] ?? '');
  }

  private retry(): void {
    if (this.isRetrying || this.unschedulable.size === 0) return;
    this.isRetrying = true;
    void this.world.clock.sleep(latencies.retryMs).then(() => {
      this.isRetrying = false;
      const keys = [...this.unschedulable];
      this.unschedulable.clear();
      for (const key of keys) this.queue.add(key);
    });
  }

  private async schedule(key: string): Promise<void> {
    const { cache, kube, random } = this.world;
    const [namespace = '', name = ''] = key.split('/');
    const found = cache.get('Pod', { namespace, name });
    if (found === undefined || !isUnbound(found)) return;
    const view = this.view(found);
    const { nodes } = view;
    const isUnwanted = this.refusesEverywhere(found);
    const open = nodes.filter(({ node }) => !isUnwanted && view.isOpenTo(node, none)).map(({ seen }) => seen);
    if (open.length === 0) {
      await this.refuse(found, view);
      return;
    }
    const nominated = open.find((node) => node.name === found.status?.nominatedNodeName);
    const all = nodes.map(({ seen }) => seen);
    const target = nominated ?? random.pick(favourites(this.seen(found), open, all));
    await kube.patch('Pod', { namespace, name }, { spec: { nodeName: target.name } });
  }

  /** It fits nowhere: less important pods go for it where that helps, and it is nominated to their node; a nomination that does not help is cleared. */
  private async refuse(found: Pod, view: View): Promise<void> {
    const { kube } = this.world;
    const { name = '', namespace = '' } = found.metadata;
    this.unschedulable.add(fullName(found));
    const nominatedNodeName = this.makesRoom(found) ? found.status?.nominatedNodeName : await this.preempt(found, view);
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    const status = { conditions, nominatedNodeName: nominatedNodeName ?? null };
    await kube.patch('Pod', { namespace, name }, { status }, { subresource: 'status' });
    this.refused.set();
  }

  /** Whether less important pods are on their way out of the node that it is nominated to. */
  private makesRoom(pod: Pod): boolean {
    const there = this.world.cache.podsOnNode(pod.status?.nominatedNodeName ?? '');
    return there.some((other) => isDeleting(other) && priorityOf(other) < priorityOf(pod));
  }

  /** The node that pods have to leave for this one, the one with fewest such pods. */
  private async preempt(found: Pod, { nodes, isOpenTo }: View): Promise<string | undefined> {
    const { cache, kube } = this.world;
    if (priorityOf(found) <= 0) return undefined;
    const ways = nodes.flatMap(({ node, seen }) => {
      const victims = victimsOf(found, cache.podsOnNode(seen.name), (gone) => isOpenTo(node, gone));
      return victims === undefined ? [] : [{ name: seen.name, victims }];
    });
    const [best] = ways.sort((a, b) => a.victims.length - b.victims.length);
    for (const { metadata } of best?.victims ?? [])
      await kube.delete('Pod', { name: metadata.name ?? '', namespace: metadata.namespace ?? '' });
    return best?.name;
  }

  /** The cluster as it is for a pod: more important pods, and those that are as important, have the room that they are nominated to. */
  private view(found: Pod): View {
    const { cache } = this.world;
    const pod = this.seen(found);
    const nominees = this.nominees();
    const waitingFor = ({ metadata: { name = '' } }: Node): readonly Pod[] =>
      (nominees.get(name) ?? []).filter((each) => each !== found && priorityOf(each) >= priorityOf(found));
    const isLetIn = this.admission(found, waitingFor);
    const nodes = cache.all('Node').map((node) => ({ node, seen: this.nodeOf(node, waitingFor(node)) }));
    const seenOf = new Map(nodes.map(({ node, seen }) => [node, seen]));
    const isOpenTo: View['isOpenTo'] = (node, gone) => {
      const seen = seenOf.get(node)!;
      return isOpen(node) && fits(pod, this.without(seen, gone)) && isLetIn(node, gone);
    };
    return { nodes, isOpenTo };
  }

  private without(seen: SchedulerNode, gone: ReadonlySet<Pod>): SchedulerNode {
    if (gone.size === 0) return seen;
    const freed = sumOf([...gone].map((pod) => this.seen(pod)));
    const { cpu, memory, pods } = seen.requested;
    return { ...seen, requested: { cpu: cpu - freed.cpu, memory: memory - freed.memory, pods: pods - freed.pods } };
  }

  /** By the rules of the pod and of those that are there, with the pods that are nominated and without them. */
  private admission(pod: Pod, waitingFor: (node: Node) => readonly Pod[]): View['isOpenTo'] {
    const { cache, kube } = this.world;
    const nodes = cache.all('Node');
    const pods = new Map(nodes.map(({ metadata: { name = '' } }) => [name, cache.podsOnNode(name)]));
    const waiting = new Map(nodes.map((node) => [node.metadata.name ?? '', waitingFor(node)]));
    const isRuled = hasRules(pod) || [...pods.values(), ...waiting.values()].some((there) => there.some(hasRules));
    if (!isRuled) {
      const around: Surroundings = { nodes, volumes: noVolumes, pods: noPods };
      return (node) => isAdmitted(pod, node, around);
    }
    const volumes = volumesIn(kube);
    return (node, gone) => {
      const left = new Map([...pods].map(([name, there]) => [name, there.filter((each) => !gone.has(each))]));
      const later = new Map([...left].map(([name, there]) => [name, [...there, ...(waiting.get(name) ?? [])]]));
      return [left, later].every((each) => isAdmitted(pod, node, { nodes, volumes, pods: each }));
    };
  }

  /** Pods that wait, by the node that they are nominated to: they count there for everybody else. */
  private nominees(): ReadonlyMap<string, readonly Pod[]> {
    const nominees = new Map<string, Pod[]>();
    for (const pod of this.world.cache.all('Pod')) {
      const node = pod.status?.nominatedNodeName ?? '';
      if (node === '' || !isUnbound(pod)) continue;
      const there = nominees.get(node);
      if (there === undefined) nominees.set(node, [pod]);
      else there.push(pod);
    }
    return nominees;
  }

  private seen(pod: Pod): SchedulerPod {
    const app = pod.metadata.labels?.['app'] ?? '';
    let seen = this.read.get(app);
    if (seen === undefined) {
      const requests = podRequests(pod.spec, this.quantities);
      seen = { app, requests: { cpu: requests.get('cpu') ?? 0, memory: requests.get('memory') ?? 0, pods: 1 } };
      this.read.set(app, seen);
    }
    return seen;
  }

  private nodeOf(node: Node, nominees: readonly Pod[]): SchedulerNode {
    const { metadata, spec } = node;
    const name = metadata.name ?? '';
    const running = this.world.cache.podsOnNode(name).map((pod) => this.seen(pod));
    const pods = new Map<string, number>();
    for (const { app } of running) pods.set(app, (pods.get(app) ?? 0) + 1);
    return {
      name,
      zone: metadata.labels?.[labels.zone] ?? '',
      softTaints: (spec?.taints ?? []).filter(({ effect }) => effect === 'PreferNoSchedule').length,
      allocatable: allocatableOf(node),
      requested: sumOf([...running, ...nominees.map((pod) => this.seen(pod))]),
      pods,
    };
  }
}

/** What kube-scheduler sees for one pod. */
interface View {
  readonly nodes: readonly { readonly node: Node; readonly seen: SchedulerNode }[];
  /** Whether a node takes the pod once some pods are gone. */
  readonly isOpenTo: (node: Node, gone: ReadonlySet<Pod>) => boolean;
}

const none: ReadonlySet<Pod> = new Set();
const noPods: Surroundings['pods'] = new Map();

function allocatableOf({ status }: Node): Amounts {
  const { cpu = 0, memory = 0, pods = 0 } = parseResources(status?.allocatable);
  return { cpu, memory, pods };
}

function sumOf(pods: readonly SchedulerPod[]): Amounts {
  const sum = { cpu: 0, memory: 0, pods: 0 };
  for (const { requests } of pods) for (const name of resourceNames) sum[name] += requests[name];
  return sum;
}

const isUnbound = ({ spec }: Pod): boolean => (spec.nodeName ?? '') === '';

const isOpen = (node: Node): boolean => node.spec?.unschedulable !== true && isTrue(node.status?.conditions, 'Ready');
