import type { Pod } from '../../../api/kubernetes.js';
import { transitionOf } from '../../../core/conditions.js';
import { pod, type PartialSpec } from '../../cases/objects.js';
import { latencies } from './latencies.js';
import type { ClusterParts } from './world.js';
import { isDeleting } from '../../../core/names.js';

/** Pods of one template, as many as are wanted. */
export interface Replicas {
  readonly app: string;
  readonly requests: Record<string, string>;
  readonly annotations?: Record<string, string>;
  /** How long its pods are given to end; default no time. */
  readonly graceSeconds?: number;
  /** Its rules of scheduling. */
  readonly spec?: PartialSpec;
}

/** What controllers of pods have in common: so many are wanted, and are made one by one. */
export abstract class ScaledPods {
  protected wanted = 0;

  constructor(
    protected readonly world: ClusterParts,
    protected readonly template: Replicas,
  ) {}

  get app(): string {
    return this.template.app;
  }

  /** How many pods it is to have. */
  get replicas(): number {
    return this.wanted;
  }

  /** Makes the pods one after the other, so many milliseconds from one to the next. */
  async scaleUp(wanted: number, everyMs: number): Promise<void> {
    while (this.wanted < wanted) {
      this.wanted += 1;
      await this.fill(everyMs);
    }
  }

  abstract scaleDown(wanted: number): Promise<void>;
  /** Makes and ends pods until there are as many as wanted, after the cluster was restored to an earlier state. */
  abstract resume(): Promise<void>;
  /** Makes what is lacking, after so many milliseconds. */
  protected abstract fill(afterMs: number): Promise<void>;
}

/** A ReplicaSet and its controller: makes pods until there are as many as wanted, and chooses which go as kube's does. */
export class ReplicaSet extends ScaledPods {
  private made = 0;

  constructor(world: ClusterParts, template: Replicas) {
    super(world, template);
    const { app, requests, spec } = template;
    world.kube.put('ReplicaSet', {
      metadata: { name: app, namespace: 'default', uid: `rs-${app}` },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app } }, spec: pod(app, { app }, requests, spec).spec },
      },
    });
    world.cache.on('Pod', ({ type, object, previous }) => {
      const isGoing = type === 'deleted' || (isDeleting(object) && !(previous !== undefined && isDeleting(previous)));
      if (isGoing && object.metadata.labels?.['app'] === app) void this.fill(latencies.replicaMs);
    });
  }

  /** How many pods there have been. */
  get count(): number {
    return this.made;
  }

  /** Those go first whose node has most pods of this set, then those that have been ready for the shortest time. */
  async scaleDown(wanted: number): Promise<void> {
    const { cache, clock, kube, random } = this.world;
    this.wanted = wanted;
    const own = cache
      .all('Pod')
      .filter((each) => each.metadata.labels?.['app'] === this.template.app && !isDeleting(each));
    const onNode = new Map<string, number>();
    for (const { spec } of own) onNode.set(spec.nodeName ?? '', (onNode.get(spec.nodeName ?? '') ?? 0) + 1);
    const ranked = own.map((each) => {
      const rank = onNode.get(each.spec.nodeName ?? '')!;
      return { each, rank, age: ageRank(each, clock.now), uid: random.next() };
    });
    ranked.sort((a, b) => b.rank - a.rank || a.age - b.age || a.uid - b.uid);
    for (const { each } of ranked.slice(0, own.length - wanted)) {
      await kube.delete('Pod', { name: each.metadata.name ?? '', namespace: 'default' });
    }
  }

  async resume(): Promise<void> {
    const { cache } = this.world;
    const own = cache
      .all('Pod')
      .filter((each) => each.metadata.labels?.['app'] === this.template.app && !isDeleting(each));
    if (own.length > this.wanted) await this.scaleDown(this.wanted);
    for (let lacking = this.wanted - own.length; lacking > 0; lacking--) await this.fill(latencies.replicaMs);
  }

  protected async fill(afterMs: number): Promise<void> {
    const { clock, cache, kube, random } = this.world;
    await clock.sleep(afterMs);
    const { app, requests, annotations, graceSeconds = 0, spec: rules } = this.template;
    const alive = cache.all('Pod').filter((each) => each.metadata.labels?.['app'] === app && !isDeleting(each));
    if (alive.length >= this.wanted) return;
    this.made += 1;
    const name = `${app}-${letters(random.next())}${this.made}`;
    const { metadata, spec, apiVersion, kind } = pod(name, { app }, requests, {
      ...rules,
      terminationGracePeriodSeconds: graceSeconds,
    });
    const { labels, namespace, ownerReferences } = metadata;
    const creationTimestamp = new Date(clock.now).toISOString();
    const own = { name, namespace, labels, annotations: { ...annotations }, ownerReferences, creationTimestamp };
    kube.put('Pod', { apiVersion, kind, metadata: own, spec, status: { phase: 'Pending' } } as Pod);
  }
}

/** For how long the pod has been ready as the ReplicaSet controller compares it: the binary logarithm of nanoseconds, rounded down. */
function ageRank({ status }: Pod, now: number): number {
  const age = now - (transitionOf(status?.conditions, 'Ready') ?? now);
  return age > 0 ? Math.floor(Math.log2(age * 1e6)) : -1;
}

/** Names come in no order, as the API server's do. */
const letters = (share: number): string =>
  Math.floor(share * 36 ** 4)
    .toString(36)
    .padStart(4, '0');
