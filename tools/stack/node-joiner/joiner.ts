import {
  DescribeAvailabilityZonesCommand,
  DescribeImagesCommand,
  DescribeInstanceAttributeCommand,
  DescribeInstanceTypesCommand,
  type EC2Client,
  type Image,
  type InstanceTypeInfo,
} from '@aws-sdk/client-ec2';
import type { Condition, Node } from '../../../api/kubernetes.js';
import type { CloudProxyControl, InstanceView, JoinerSettings } from '../cloud-proxy/control.js';
import { emptyStart, type KubeletStart } from './kubelet-arguments.js';
import { KubernetesError, type KubernetesApi } from './kubernetes-api.js';
import { kwokAnnotation, nodeOf, nodeResources, uninitialized, type Machine } from './node.js';
import { readUserData, refusedLabels } from './user-data.js';

export interface JoinerOptions {
  cluster: string;
  region: string;
  ec2: EC2Client;
  control: CloudProxyControl;
  kubernetes: KubernetesApi;
  log: (line: string) => void;
}

/** A machine whose user data starts no kubelet, or one that fails. */
class CannotJoin extends Error {}

const annotationOff = Object.fromEntries(Object.keys(kwokAnnotation).map((key) => [key, null]));

interface Tracked {
  instance: InstanceView;
  /** The node's name once it is registered. */
  node?: string;
  /** A join is under way or was given up. */
  joining: boolean;
  timers: NodeJS.Timeout[];
  /** Whether KWOK plays the kubelet. */
  heartbeat: boolean;
}

const nodePath = (name: string): string => `/api/v1/nodes/${name}`;
const isGone = (error: unknown): boolean => error instanceof KubernetesError && error.status === 404;

/**
 * Plays the kubelets (and the node parts of the cloud-controller-manager) of the cluster's instances: a running
 * instance registers its Node as its user data says, a terminated one's Node is deleted.
 */
export class NodeJoiner {
  readonly #tracked = new Map<string, Tracked>();
  readonly #types = new Map<string, Promise<InstanceTypeInfo>>();
  readonly #images = new Map<string, Promise<Image | undefined>>();
  #zoneIds: Promise<Map<string, string>> | undefined;
  #settings: JoinerSettings | undefined;
  #version: Promise<string> | undefined;
  #stopped = false;

  constructor(private readonly options: JoinerOptions) {}

  /** Follows the instances until `stop`. Outages are waited out. */
  async run(): Promise<void> {
    const { control, log } = this.options;
    let revision = -1;
    while (!this.#stopped) {
      try {
        if (revision < 0) await this.#adoptNodes();
        const changes = await control.watchInstances(Math.max(revision, 0), revision < 0 ? 0 : 10_000);
        if (changes.revision < revision) revision = -1;
        this.#settings = changes.settings;
        for (const instance of changes.instances) this.#observe(instance);
        await this.#imposeConditions();
        await control.reportJoiner();
        revision = revision < 0 || changes.revision >= revision ? changes.revision : -1;
      } catch (error) {
        if (this.#isStopped()) return;
        log(`cannot follow the instances: ${String(error)}`);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  #isStopped(): boolean {
    return this.#stopped;
  }

  stop(): void {
    this.#stopped = true;
    for (const { timers } of this.#tracked.values()) timers.forEach(clearTimeout);
  }

  /** After a restart: which instances have joined already. */
  async #adoptNodes(): Promise<void> {
    const { items } = await this.options.kubernetes.get<{ items: Node[] }>('/api/v1/nodes');
    const byInstance = new Map(
      items.map((node) => [node.spec?.providerID?.split('/').at(-1) ?? '', node.metadata.name ?? ''] as const),
    );
    for (const instance of await this.options.control.instances()) {
      const node = byInstance.get(instance.id);
      if (node === undefined || this.#tracked.has(instance.id)) continue;
      this.#tracked.set(instance.id, { instance, node, joining: true, timers: [], heartbeat: true });
    }
  }

  #observe(instance: InstanceView): void {
    if (!['owned', 'shared'].includes(instance.tags[`kubernetes.io/cluster/${this.options.cluster}`] ?? '')) return;
    const tracked = this.#tracked.get(instance.id) ?? { instance, joining: false, timers: [], heartbeat: true };
    tracked.instance = instance;
    this.#tracked.set(instance.id, tracked);
    switch (instance.state) {
      case 'running':
        this.#onRunning(tracked);
        return;
      case 'shutting-down':
      case 'stopping':
      case 'stopped':
        tracked.timers.forEach(clearTimeout);
        void this.#setHeartbeat(tracked, false);
        return;
      case 'terminated':
        tracked.timers.forEach(clearTimeout);
        void this.#remove(tracked);
        return;
      case 'pending':
        return;
    }
  }

  #onRunning(tracked: Tracked): void {
    const { id, instanceType } = tracked.instance;
    const settings = this.#settings!;
    if (tracked.joining) {
      if (!settings.stopped.includes(id)) void this.#setHeartbeat(tracked, true);
      return;
    }
    const never = settings.neverJoin.some((pattern) => matches(pattern, id) || matches(pattern, instanceType));
    if (never) return;
    tracked.joining = true;
    this.#later(tracked, settings.joinDelayMs, () => this.#join(tracked));
  }

  #later(tracked: Tracked, delayMs: number, action: () => Promise<void>): void {
    tracked.timers.push(
      setTimeout(() => {
        action().catch((error: unknown) => this.options.log(`${tracked.instance.id}: ${String(error)}`));
      }, delayMs),
    );
  }

  async #join(tracked: Tracked): Promise<void> {
    const { kubernetes, log } = this.options;
    const settings = this.#settings!;
    let machine: Machine;
    try {
      machine = await this.#boot(tracked.instance);
    } catch (error) {
      if (!(error instanceof CannotJoin)) {
        // The cloud or the API server was away: a kubelet tries again.
        log(`${tracked.instance.id} tries again to join: ${String(error)}`);
        this.#later(tracked, 1000, () => this.#join(tracked));
        return;
      }
      log(`${tracked.instance.id} does not join: ${error.message}`);
      return;
    }
    const node = nodeOf(machine, settings.readyDelayMs === 0);
    try {
      await kubernetes.create('/api/v1/nodes', node);
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.status !== 409) {
        log(`${tracked.instance.id} tries again to join: ${String(error)}`);
        this.#later(tracked, 1000, () => this.#join(tracked));
        return;
      }
    }
    tracked.node = node.metadata.name!;
    log(`${tracked.instance.id} (${tracked.instance.instanceType}) joined as ${tracked.node}`);
    await this.#removeTaint(tracked.node, uninitialized.key);
    if (settings.readyDelayMs > 0) {
      tracked.heartbeat = false;
      this.#later(tracked, settings.readyDelayMs, () => this.#setHeartbeat(tracked, true));
    }
    const { devices } = nodeResources(machine);
    if (Object.keys(devices).length === 0) return;
    this.#later(tracked, settings.deviceDelayMs, async () => {
      await kubernetes.patch(`${nodePath(tracked.node!)}/status`, {
        status: { capacity: devices, allocatable: devices },
      });
    });
  }

  /** What the machine finds out about itself while it boots. */
  async #boot(instance: InstanceView): Promise<Machine> {
    const { ec2, region } = this.options;
    const attribute = new DescribeInstanceAttributeCommand({ InstanceId: instance.id, Attribute: 'userData' });
    const { UserData } = await ec2.send(attribute);
    const userData = Buffer.from(UserData?.Value ?? '', 'base64').toString('utf8');
    const image = await this.#image(instance.imageId);
    const start = this.#start(userData, image);
    this.#version ??= this.options.kubernetes
      .get<{ major: string; minor: string }>('/version')
      .then(({ major, minor }) => `${major}.${minor.replace(/\D/g, '')}`);
    this.#version.catch(() => (this.#version = undefined));
    return {
      instance,
      type: await this.#type(instance.instanceType),
      start,
      region,
      zoneId: (await this.#zones()).get(instance.zone),
      windows: /windows/i.test(image?.Platform ?? ''),
      kubernetesVersion: await this.#version,
    };
  }

  #start(userData: string, image: Image | undefined): KubeletStart {
    let start: KubeletStart | undefined;
    try {
      start = readUserData(userData);
    } catch (error) {
      throw new CannotJoin(`its user data does not parse: ${String(error)}`);
    }
    if (start === undefined) {
      // Images made for EKS start no kubelet by themselves; what a custom image does is its own affair.
      if (/eks|bottlerocket/i.test(image?.Name ?? '')) throw new CannotJoin('its user data starts no kubelet');
      return emptyStart();
    }
    const { name, endpoint } = start.cluster ?? {};
    const { cluster, kubernetes } = this.options;
    if (name !== cluster) throw new CannotJoin(`its user data names the cluster "${name ?? ''}", not "${cluster}"`);
    if (endpoint !== undefined && endpoint.replace(/\/$/, '') !== kubernetes.server) {
      throw new CannotJoin(`its user data names the API server ${endpoint}, not ${kubernetes.server}`);
    }
    const refused = refusedLabels(start.labels);
    if (refused.length > 0) throw new CannotJoin(`its kubelet refuses the labels ${refused.join(', ')}`);
    return start;
  }

  #type(name: string): Promise<InstanceTypeInfo> {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = this.options.ec2
        .send(new DescribeInstanceTypesCommand({ InstanceTypes: [name as InstanceTypeInfo['InstanceType'] & string] }))
        .then(({ InstanceTypes }) => InstanceTypes![0]!);
      type.catch(() => this.#types.delete(name));
      this.#types.set(name, type);
    }
    return type;
  }

  #image(id: string): Promise<Image | undefined> {
    let image = this.#images.get(id);
    if (image === undefined) {
      image = this.options.ec2.send(new DescribeImagesCommand({ ImageIds: [id] })).then(({ Images }) => Images?.[0]);
      image.catch(() => this.#images.delete(id));
      this.#images.set(id, image);
    }
    return image;
  }

  #zones(): Promise<Map<string, string>> {
    this.#zoneIds ??= this.options.ec2
      .send(new DescribeAvailabilityZonesCommand({}))
      .then(({ AvailabilityZones = [] }) => new Map(AvailabilityZones.map((zone) => [zone.ZoneName!, zone.ZoneId!])));
    this.#zoneIds.catch(() => (this.#zoneIds = undefined));
    return this.#zoneIds;
  }

  /** Takes a taint away as the cloud-controller-manager does, without undoing a concurrent change. */
  async #removeTaint(name: string, key: string): Promise<void> {
    const { kubernetes } = this.options;
    for (;;) {
      try {
        const node = await kubernetes.get<Node>(nodePath(name));
        const taints = (node.spec?.taints ?? []).filter((taint) => taint.key !== key);
        if (taints.length === (node.spec?.taints ?? []).length) return;
        const { resourceVersion } = node.metadata;
        await kubernetes.patch(nodePath(name), { metadata: { resourceVersion }, spec: { taints } });
        return;
      } catch (error) {
        if (isGone(error)) return;
        if (!(error instanceof KubernetesError) || error.status !== 409) throw error;
      }
    }
  }

  /** Lets KWOK play the node's kubelet, or stop. */
  async #setHeartbeat(tracked: Tracked, on: boolean): Promise<void> {
    if (tracked.node === undefined || tracked.heartbeat === on) return;
    tracked.heartbeat = on;
    const annotations = on ? kwokAnnotation : annotationOff;
    await this.#tryPatch(nodePath(tracked.node), { metadata: { annotations } });
  }

  async #tryPatch(path: string, patch: unknown, type: 'merge' | 'strategic' = 'merge'): Promise<void> {
    try {
      await this.options.kubernetes.patch(path, patch, type);
    } catch (error) {
      if (!isGone(error)) this.options.log(`${path}: ${String(error)}`);
    }
  }

  async #remove(tracked: Tracked): Promise<void> {
    this.#tracked.delete(tracked.instance.id);
    if (tracked.node === undefined) return;
    try {
      // Only our machine's Node: its name may have gone to another machine.
      const node = await this.options.kubernetes.get<Node>(nodePath(tracked.node));
      if (node.spec?.providerID?.endsWith(tracked.instance.id) !== true) return;
      await this.options.kubernetes.delete(nodePath(tracked.node));
      this.options.log(`${tracked.instance.id} is gone, and so is ${tracked.node}`);
    } catch (error) {
      if (isGone(error)) return;
      this.options.log(`${tracked.node}: ${String(error)}`);
      this.#tracked.set(tracked.instance.id, tracked);
      this.#later(tracked, 1000, () => this.#remove(tracked));
    }
  }

  /** Writes the scripted conditions, with a fresh heartbeat, and stops the kubelets that are to be stopped. */
  async #imposeConditions(): Promise<void> {
    const { stopped, conditions } = this.#settings!;
    for (const tracked of this.#tracked.values()) {
      const { node, instance } = tracked;
      if (node === undefined || instance.state !== 'running') continue;
      const imposed = conditions[instance.id] ?? [];
      const unready = imposed.some(({ type, status }) => type === 'Ready' && status !== 'True');
      if (stopped.includes(instance.id) || unready) await this.#setHeartbeat(tracked, false);
      else if (tracked.timers.length === 0 || !this.#isBooting(tracked)) await this.#setHeartbeat(tracked, true);
      if (imposed.length === 0) continue;
      const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const written = imposed.map((condition): Condition & { lastHeartbeatTime: string } => ({
        reason: 'Scripted',
        message: 'scripted by a test',
        ...condition,
        lastHeartbeatTime: now,
      }));
      await this.#tryPatch(`${nodePath(node)}/status`, { status: { conditions: written } }, 'strategic');
    }
  }

  /** Whether the node still waits for its first Ready. */
  #isBooting(tracked: Tracked): boolean {
    const { joinDelayMs, readyDelayMs } = this.#settings!;
    return readyDelayMs > 0 && Date.now() < tracked.instance.launchedAt + joinDelayMs + readyDelayMs + 2000;
  }
}

/** A pattern with `*`. */
function matches(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}
