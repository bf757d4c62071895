import type { Node, Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { parseResources } from '../../core/resources.js';
import { podKey } from '../../core/pods.js';
import { podRequests, QuantityReader } from '../../packing/compile/pod-requests.js';
import { Flag, Inbox } from './clock.js';
import { latencies } from './latencies.js';
import { hasRules, isAdmitted, noVolumes, volumesIn } from './scheduling-rules.js';
import type { Surroundings } from './scheduling-rules.js';
import { favourites, fits, resourceNames } from './scheduler-scores.js';
import type { Amounts, SchedulerNode, SchedulerPod } from './scheduler-scores.js';
import type { ClusterParts } from './world.js';

/** kube-scheduler: binds one pod after the other; those that fit nowhere are tried again when something has changed. */
export class Scheduler {
  /** Set when a pod was found to fit nowhere. */
  readonly refused = new Flag();
  private readonly quantities = new QuantityReader();
  private readonly read = new Map<string, SchedulerPod>();
  private readonly queue = new Inbox<string>();
  private unschedulable = new Set<string>();
  private isRetrying = false;

  constructor(private readonly world: ClusterParts) {
    const { cache } = world;
    cache.on('Pod', ({ type, object, previous }) => {
      if (type === 'deleted') this.retry();
      // One that was bound is unbound again where the cluster is restored from a backup.
      else if (isUnbound(object) && (previous === undefined || !isUnbound(previous))) this.queue.add(podKey(object));
    });
    cache.on('Node', () => this.retry());
  }

  /** Binds for as long as the world stands. */
  async follow(): Promise<never> {
    for (;;) {
      const key = await this.queue.next();
      await this.world.clock.sleep(latencies.bindMs);
      await this.schedule(key);
    }
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
    const pod = this.seen(found);
    const nominees = this.nominees();
    const isLetIn = this.admission(found, nominees);
    const nodes = cache.all('Node').map((node) => {
      const others = (nominees.get(node.metadata.name ?? '') ?? []).filter((each) => each !== found);
      return { node, seen: this.nodeOf(node, others) };
    });
    const open = nodes
      .filter(({ node, seen }) => isOpen(node) && fits(pod, seen) && isLetIn(node))
      .map(({ seen }) => seen);
    if (open.length === 0) {
      this.unschedulable.add(key);
      const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
      await kube.patch('Pod', { namespace, name }, { status: { conditions } }, { subresource: 'status' });
      this.refused.set();
      return;
    }
    const nominated = open.find((node) => node.name === found.status?.nominatedNodeName);
    const target =
      nominated ??
      random.pick(
        favourites(
          pod,
          open,
          nodes.map(({ seen }) => seen),
        ),
      );
    await kube.patch('Pod', { namespace, name }, { spec: { nodeName: target.name } });
  }

  /** By the rules of the pod and of those that are there, with the pods that are nominated and without them. */
  private admission(pod: Pod, nominees: ReadonlyMap<string, readonly Pod[]>): (node: Node) => boolean {
    const { cache, kube } = this.world;
    const nodes = cache.all('Node');
    const pods = new Map(nodes.map(({ metadata: { name = '' } }) => [name, cache.podsOnNode(name)]));
    const waiting = new Map(
      nodes.map(({ metadata: { name = '' } }) => [name, (nominees.get(name) ?? []).filter((each) => each !== pod)]),
    );
    const isRuled = hasRules(pod) || [...pods.values(), ...waiting.values()].some((there) => there.some(hasRules));
    const volumes = isRuled ? volumesIn(kube) : noVolumes;
    const around: Surroundings = { nodes, volumes, pods: isRuled ? pods : noPods };
    if (!isRuled) return (node) => isAdmitted(pod, node, around);
    const withNominees = new Map([...pods].map(([name, there]) => [name, [...there, ...(waiting.get(name) ?? [])]]));
    return (node) => isAdmitted(pod, node, around) && isAdmitted(pod, node, { ...around, pods: withNominees });
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
