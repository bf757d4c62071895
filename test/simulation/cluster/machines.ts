import { labels, taints } from '../../../api/labels.js';
import { withCondition } from '../../../core/conditions.js';
import { formatResource, type Resources } from '../../../core/quantities.js';
import type { Random } from '../../cases/random.js';
import type { LaunchedInstance } from '../../../cloud/port.js';
import type { FakeCloud } from '../cloud/fake.js';
import type { FakeKube } from '../kube/fake.js';

const kubeletReady = { type: 'Ready', status: 'True', reason: 'KubeletReady' } as const;

/** How long a kubelet takes to register anew, milliseconds. */
const rejoinMs = 30_000;

export interface MachineTimes {
  /** From CreateFleet until the kubelet registers, milliseconds, and from there until it is ready. */
  readonly joinMs: { readonly from: number; readonly to: number };
  readonly readyMs: { readonly from: number; readonly to: number };
  /** How long the cloud takes to end an instance, milliseconds; its kubelet falls silent meanwhile. */
  readonly endsMs: { readonly from: number; readonly to: number };
  /** Chance that a machine never joins. */
  readonly neverJoins: number;
}

/** Instances that become nodes, as kubelets and the cloud controller make them: a node of an instance that is gone goes too. */
export class Machines {
  /** Chance that a machine never joins. */
  neverJoins: number;

  /** Nodes whose kubelets are away. */
  private readonly away = new Set<string>();

  /** Machines that join, or have joined. */
  private readonly joined = new Map<string, LaunchedInstance>();

  constructor(
    private readonly kube: FakeKube,
    private readonly cloud: FakeCloud,
    private readonly random: Random,
    private readonly times: MachineTimes,
  ) {
    this.neverJoins = times.neverJoins;
    cloud.onLaunch = (instance) => this.boot(instance);
    cloud.onGone = (providerId) => this.vanish(providerId);
    cloud.onShuttingDown = (providerId) => this.shutDown(providerId);
  }

  /** Whether the kubelet of a node says and does nothing. */
  isAway(name: string): boolean {
    return this.away.has(name);
  }

  /** The kubelet of a running instance finds no Node and creates it anew. */
  rejoin(providerId: string): void {
    const instance = this.joined.get(providerId);
    const isKnown = this.kube.kept('Node').some(({ spec }) => spec?.providerID === providerId);
    if (instance !== undefined && !isKnown) void this.join(instance);
  }

  /** The API server is at an earlier state: kubelets and the cloud controller make nodes what machines are. */
  catchUp(): void {
    const instances = this.cloud.peek().filter(({ state }) => state === 'running');
    const running = new Set(instances.map(({ providerId }) => providerId));
    const nodes = this.kube.kept('Node');
    const known = new Set(nodes.map(({ spec }) => spec?.providerID ?? ''));
    for (const { metadata, spec } of nodes) {
      if (running.has(spec?.providerID ?? '')) this.startKubelet(metadata.name ?? '');
      else this.vanish(spec?.providerID ?? '');
    }
    for (const [providerId, instance] of this.joined) {
      if (running.has(providerId) && !known.has(providerId)) setTimeout(() => void this.join(instance), rejoinMs);
    }
    this.removeStranded(new Set(nodes.map(({ metadata }) => metadata.name ?? '')));
  }

  /** What the pod garbage collector does, and kubelets that find pods which they have started already. */
  private removeStranded(nodeNames: ReadonlySet<string>): void {
    for (const { metadata, spec, status } of this.kube.kept('Pod')) {
      const ref = { name: metadata.name ?? '', namespace: metadata.namespace ?? 'default' };
      if (spec.nodeName === undefined) continue;
      if (!nodeNames.has(spec.nodeName)) this.kube.remove('Pod', ref);
      else if (status?.phase !== 'Running') {
        const conditions = [{ type: 'Ready', status: 'True' }];
        void this.kube.patch('Pod', ref, { status: { phase: 'Running', conditions } }, { subresource: 'status' });
      }
    }
  }

  private shutDown(providerId: string): void {
    const { from, to } = this.times.endsMs;
    const afterMs = this.random.int(from, to);
    const node = this.kube.kept('Node').find(({ spec }) => spec?.providerID === providerId);
    if (node !== undefined) setTimeout(() => this.stopKubelet(node.metadata.name ?? ''), afterMs / 2);
    setTimeout(() => this.cloud.finishTermination(providerId), afterMs);
  }

  private boot(instance: LaunchedInstance): void {
    const { joinMs } = this.times;
    const after = this.random.int(joinMs.from, joinMs.to);
    if (this.random.chance(this.neverJoins)) return;
    this.joined.set(instance.providerId, instance);
    setTimeout(() => void this.join(instance), after);
  }

  private async join(instance: LaunchedInstance): Promise<void> {
    if (!(await this.isThere(instance.providerId))) {
      this.joined.delete(instance.providerId);
      return;
    }
    const name = nameOf(instance.instanceId);
    const now = Date.now();
    const { readyMs } = this.times;
    this.kube.put('Node', {
      metadata: {
        name,
        labels: { ...instance.labels, [labels.hostname]: name },
        creationTimestamp: new Date(now).toISOString(),
      },
      spec: { providerID: instance.providerId, taints: [{ ...taints.unregistered }] },
      status: {
        capacity: written(instance.capacity),
        allocatable: written(instance.allocatable),
        conditions: withCondition(undefined, { type: 'Ready', status: 'False', reason: 'KubeletNotReady' }, { now }),
      },
    });
    setTimeout(() => this.startKubelet(name), this.random.int(readyMs.from, readyMs.to));
  }

  /** The kubelet of a node says nothing any more. */
  stopKubelet(name: string): void {
    this.away.add(name);
    void this.say(name, { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' });
  }

  startKubelet(name: string): void {
    this.away.delete(name);
    void this.say(name, kubeletReady);
  }

  private async say(name: string, condition: Parameters<typeof withCondition>[1]): Promise<void> {
    const node = await this.kube.get('Node', { name });
    if (node === undefined) return;
    const conditions = withCondition(node.status?.conditions, condition, { now: Date.now() });
    await this.kube.patch('Node', { name }, { status: { conditions } }, { subresource: 'status' });
  }

  private async isThere(providerId: string): Promise<boolean> {
    return (await this.cloud.list()).some((one) => one.providerId === providerId && one.state === 'running');
  }

  /** The machine is gone: its pods with it, and its Node, which the cloud controller deletes. */
  private vanish(providerId: string): void {
    const node = this.kube.kept('Node').find(({ spec }) => spec?.providerID === providerId);
    const name = node?.metadata.name;
    if (name === undefined) return;
    setTimeout(() => {
      for (const { metadata, spec } of this.kube.kept('Pod')) {
        if (spec.nodeName !== name) continue;
        this.kube.remove('Pod', { name: metadata.name ?? '', namespace: metadata.namespace ?? 'default' });
      }
      void this.kube.delete('Node', { name });
    }, 1000);
  }
}

const nameOf = (instanceId: string): string => `node-${instanceId.slice(-6)}`;

const written = (resources: Resources): Record<string, string> =>
  Object.fromEntries(Object.entries(resources).map(([name, value]) => [name, formatResource(name, value)]));
