import type { KWOKNodeClass } from '../../api/kwok/kwok-node-class.js';
import type { Node } from '../../api/kubernetes.js';
import { annotations, labels, taints } from '../../api/labels.js';
import { isTrue, timestamp, withCondition } from '../../core/conditions.js';
import { parseNillableDuration } from '../../core/durations.js';
import { hashText } from '../../core/hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { allocatableOf, launchOptions, pinnedLabels, type LaunchOption } from '../../core/launch-options.js';
import { formatResource, parseResources, type Resources } from '../../core/quantities.js';
import { err, ok } from '../../core/result.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import type { KubeClient } from '../../kube/port.js';
import type { CloudInstance, CloudProvider, LaunchedInstance, LaunchRequest, NodeClass } from '../port.js';
import { kwokWellKnownLabels, offeringLabels } from './catalogue.js';
import { messageOf } from '../../core/error-message.js';
import { isDeleting, nameOf } from '../../core/names.js';

interface KwokOptions {
  readonly kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'patch' | 'delete'>;
  readonly types: readonly InstanceType[];
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Called when a node could not be registered after its delay. */
  readonly onProblem?: (message: string) => void;
}

/** Overhead of every node in Karpenter's KWOK provider. */
export const kwokOverhead: Resources = { cpu: 100, memory: 10 * 2 ** 20 };

const prefix = 'kwok://';
const fake = { 'kwok.x-k8s.io/node': 'fake' };
const terminated = 'stowage.dev/instance-terminated';
const tagsAnnotation = 'stowage.dev/instance-tags';

/**
 * Simulated machines for KWOKNodeClass `karpenter.kwok.sh/v1alpha1`, as in Karpenter's KWOK provider: the Node object
 * is the machine. Its name is derived from the claim's UID, so a retried launch finds the node it created.
 */
export function createKwokProvider(options: KwokOptions): CloudProvider {
  return new KwokProvider(options);
}

class KwokProvider implements CloudProvider {
  readonly name = 'kwok';
  readonly isMetered = false;
  readonly nodeClassKind = { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass' };
  readonly wellKnownLabels: readonly string[];
  private readonly now: () => number;
  private readonly unavailable: UnavailableOfferings;
  /** The same array as long as nothing changes, since packing caches by its identity. */
  private current: { readonly version: string; readonly types: readonly InstanceType[] } | undefined;
  /** Machines whose nodes have not registered yet. */
  private readonly starting = new Map<string, NewNode>();

  constructor(private readonly options: KwokOptions) {
    this.now = options.now ?? (() => Date.now());
    this.unavailable = new UnavailableOfferings(this.now);
    this.wellKnownLabels = [...new Set([...kwokWellKnownLabels, ...offeringLabels(options.types)])];
  }

  instanceTypes(): Promise<readonly InstanceType[]> {
    const { version } = this.unavailable;
    if (this.current?.version !== version) {
      this.current = { version, types: this.options.types.map((type) => this.withAvailability(type)) };
    }
    return Promise.resolve(this.current.types);
  }

  async launch(request: LaunchRequest): ReturnType<CloudProvider['launch']> {
    const { claim, nodeClass } = request;
    const conditions = (nodeClass as KWOKNodeClass).status?.conditions;
    if (conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'False') === true) {
      const message = conditions.find((condition) => condition.type === 'Ready')?.message ?? '';
      return err({ kind: 'NodeClassNotReady', message, unavailable: [] });
    }
    const name = nodeNameOf(request);
    const existing =
      this.starting.get(name) ??
      (request.firstAttempt === true ? undefined : await this.options.kube.get('Node', { name }));
    if (existing !== undefined) return this.adopt(existing);
    const requests = parseResources(claim.spec.resources?.requests);
    const types = await this.instanceTypes();
    const { overlaid = (all: typeof types) => all } = request;
    const option = launchOptions(overlaid(types), claim.spec.requirements, requests)[0];
    if (option === undefined) {
      const message = 'no instance type with an available offering meets the claim';
      return err({ kind: 'InsufficientCapacity', message, unavailable: [] });
    }
    const node = toNode(name, option, request, timestamp(this.now()));
    await this.register(node, nodeClass);
    return ok(toLaunched(node, option));
  }

  async get(providerId: string): Promise<CloudInstance | undefined> {
    if (!providerId.startsWith(prefix)) return undefined;
    const name = providerId.slice(prefix.length);
    const node = this.starting.get(name) ?? (await this.options.kube.get('Node', { name }));
    return node === undefined || isTerminated(node) ? undefined : toInstance(node);
  }

  async list(): Promise<readonly CloudInstance[]> {
    const nodes = await this.options.kube.list('Node');
    const ours = nodes.filter((node) => node.spec?.providerID?.startsWith(prefix) === true && !isTerminated(node));
    return [...ours, ...this.starting.values()].map(toInstance);
  }

  /** The machine ends immediately; its Node object stays as long as it has finalizers. */
  async terminate(providerId: string): Promise<'terminating' | 'gone'> {
    const name = providerId.slice(prefix.length);
    if (this.starting.delete(name)) return 'terminating';
    const { kube } = this.options;
    const node = await kube.get('Node', { name });
    if (node === undefined || (isTerminated(node) && isDeleting(node))) return 'gone';
    await kube.patch('Node', { name }, { metadata: { annotations: { [terminated]: 'true' } } });
    await kube.delete('Node', { name });
    return 'terminating';
  }

  async tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const name = providerId.slice(prefix.length);
    const node = await this.options.kube.get('Node', { name });
    const all = JSON.stringify({ ...tags, ...tagsOf(node) });
    await this.options.kube.patch('Node', { name }, { metadata: { annotations: { [tagsAnnotation]: all } } });
  }

  resolveNodeClass(nodeClass: NodeClass): ReturnType<CloudProvider['resolveNodeClass']> {
    const { status } = nodeClass as KWOKNodeClass;
    const at = { now: this.now(), generation: nodeClass.metadata.generation };
    const conditions = isTrue(status?.conditions, 'Ready')
      ? status?.conditions
      : withCondition(status?.conditions, { type: 'Ready', status: 'True' }, at);
    return Promise.resolve({
      status: { ...status, conditions },
      annotations: {},
      events: [],
      requeueAfterMs: 3_600_000,
    });
  }

  cleanUpNodeClass(): Promise<void> {
    return Promise.resolve();
  }

  drift(): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  markUnavailable(offerings: Parameters<CloudProvider['markUnavailable']>[0]): void {
    this.unavailable.add(offerings);
  }

  /** The node that an earlier launch of the claim created; a claim never gets a second machine. */
  private adopt(node: NewNode | Node): Awaited<ReturnType<CloudProvider['launch']>> {
    if (isTerminated(node)) {
      const message = `${nameOf(node)}, launched for this claim, is terminated already`;
      return err({ kind: 'InsufficientCapacity', message, unavailable: [] });
    }
    const instance = toInstance(node);
    const type = this.options.types.find((candidate) => candidate.name === instance.instanceType);
    const resources = {
      capacity: parseResources(node.status?.capacity),
      allocatable: parseResources(node.status?.allocatable),
    };
    const { providerId, instanceId, instanceType, zone, capacityType } = instance;
    return ok({
      ...{ providerId, instanceId, instanceType, zone, capacityType },
      labels: node.metadata.labels ?? {},
      annotations: isTagged,
      ...(type === undefined ? resources : { capacity: type.capacity, allocatable: allocatableOf(type) }),
      unavailable: [],
    });
  }

  private async register(node: NewNode, nodeClass: KWOKNodeClass): Promise<void> {
    const delay = parseNillableDuration(nodeClass.spec.nodeRegistrationDelay ?? '0s', 'spec.nodeRegistrationDelay');
    if (delay === 0) {
      await this.options.kube.create('Node', node);
      return;
    }
    const name = nameOf(node);
    this.starting.set(name, node);
    setTimeout(() => void this.registerLate(name), delay).unref();
  }

  private async registerLate(name: string): Promise<void> {
    const node = this.starting.get(name);
    if (node === undefined) return;
    try {
      await this.options.kube.create('Node', node);
      this.starting.delete(name);
    } catch (error) {
      this.options.onProblem?.(`node ${name} cannot register yet: ${messageOf(error)}`);
      setTimeout(() => void this.registerLate(name), 1000).unref();
    }
  }

  private withAvailability(type: InstanceType): InstanceType {
    return {
      ...type,
      offerings: type.offerings.map((offering) => {
        const place = pinnedLabels({ type, offering }, []);
        const refused = this.unavailable.get(place[labels.capacityType] ?? '', type.name, place[labels.zone] ?? '');
        if (refused === undefined) return offering;
        return { ...offering, available: false, unavailableReason: refused.reason, unavailableUntil: refused.until };
      }),
    };
  }
}

/** The machine is its node, so it needs no name tag. */
const isTagged = { [annotations.tagged]: 'true', [annotations.clusterNameTagged]: 'true' };

type NewNode = Omit<Node, 'apiVersion' | 'kind'>;

function nodeNameOf({ claim, clientToken }: LaunchRequest): string {
  return `kwok-${nameOf(claim).slice(0, 40)}-${hashText(clientToken).slice(0, 10)}`;
}

function toNode(name: string, option: LaunchOption, { claim }: LaunchRequest, creationTimestamp: string): NewNode {
  const list = (amounts: Resources): Record<string, string> =>
    Object.fromEntries(
      Object.entries(amounts).map(([resource, amount]) => [resource, formatResource(resource, amount)]),
    );
  const pinned = pinnedLabels(option, claim.spec.requirements);
  return {
    metadata: {
      name,
      // The time of the launch, until the API server has the Node.
      creationTimestamp,
      labels: {
        ...claim.metadata.labels,
        ...pinned,
        ...fake,
        [labels.hostname]: name,
        'eks-node-viewer/instance-price': option.offering.price.toFixed(6),
      },
      annotations: { ...claim.metadata.annotations, ...fake },
    },
    spec: { providerID: `${prefix}${name}`, taints: [{ ...taints.unregistered }] },
    status: { capacity: list(option.type.capacity), allocatable: list(allocatableOf(option.type)) },
  };
}

function toLaunched(node: NewNode, option: LaunchOption): LaunchedInstance {
  const instance = toInstance(node);
  const { providerId, instanceId, instanceType, zone, capacityType } = instance;
  return {
    ...{ providerId, instanceId, instanceType, zone, capacityType },
    labels: node.metadata.labels ?? {},
    annotations: isTagged,
    capacity: option.type.capacity,
    allocatable: allocatableOf(option.type),
    pricePerHour: option.offering.price,
    unavailable: [],
  };
}

function toInstance(node: NewNode | Node): CloudInstance {
  const marks = node.metadata.labels ?? {};
  const name = nameOf(node);
  return {
    providerId: `${prefix}${name}`,
    instanceId: name,
    state: 'running',
    instanceType: marks[labels.instanceType] ?? '',
    zone: marks[labels.zone] ?? '',
    capacityType: marks[labels.capacityType] ?? '',
    launchedAt: Date.parse(node.metadata.creationTimestamp ?? '1970-01-01'),
    tags: tagsOf(node),
    labels: marks,
  };
}

/** Empty where they cannot be read: anybody who may write Nodes may write the annotation. */
function tagsOf(node: NewNode | Node | undefined): Record<string, string> {
  try {
    return Object(JSON.parse(node?.metadata.annotations?.[tagsAnnotation] ?? '{}')) as Record<string, string>;
  } catch {
    return {};
  }
}

function isTerminated(node: NewNode | Node): boolean {
  return node.metadata.annotations?.[terminated] === 'true';
}
