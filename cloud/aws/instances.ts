import type { Instance } from '@aws-sdk/client-ec2';
import { awsLabels } from '../../api/aws/labels.js';
import { instanceTags, labels } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { lookUp } from '../../core/own.js';
import type { CloudInstance, EndedInstance } from '../port.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { isOfCaller, toDomainError } from './errors.js';
import { allPages } from './pages.js';
import { clusterNameTag, clusterTag, tagList, tagRecord } from './tags.js';

/** An instance with the data for drift detection. */
export interface Ec2Instance extends CloudInstance {
  readonly subnetId: string | undefined;
  readonly securityGroupIds: readonly string[];
  readonly capacityReservationId: string | undefined;
  readonly placementGroupId: string | undefined;
}

const batchWindow = { idleMs: 100, maxMs: 1_000, maxItems: 500 };
const alive = ['pending', 'running', 'shutting-down', 'stopping', 'stopped'];
const over: ReadonlySet<string> = new Set(['stopping', 'stopped', 'shutting-down', 'terminated']);
/** EC2's responses may lag behind its launches by this time. */
const visibleAfterMs = 60_000;

/** Reads, tags and terminates instances; batches single requests into few calls (launch/calls-gathered). */
export class Instances {
  private readonly describing: Batcher<string, Instance | undefined>;
  private readonly terminating: Batcher<string, Termination>;
  private readonly launches = new Map<string, number>();

  constructor(
    private readonly calls: Pick<
      AwsCalls,
      'describeInstances' | 'terminateInstances' | 'rebootInstances' | 'createTags'
    >,
    private readonly clusterName: string,
    private readonly clock: Clock,
  ) {
    this.describing = new Batcher(batchWindow, clock, (ids) => this.describe(ids));
    this.terminating = new Batcher(batchWindow, clock, (ids) => this.terminateAll(ids));
  }

  /** Records a launch: the instance exists, even if EC2 does not list it yet. */
  launched(id: string): void {
    const now = this.clock.now();
    for (const [other, at] of this.launches) if (now - at > visibleAfterMs) this.launches.delete(other);
    this.launches.set(id, now);
  }

  async get(id: string): Promise<Ec2Instance | undefined> {
    const found = await this.describing.add(id);
    const isOver = found?.State?.Name === 'terminated';
    if (found !== undefined && !isOver && !isWhole(found))
      throw new DomainError('Unavailable', `ec2:DescribeInstances: ${id} is described in part`);
    const instance = found === undefined || isOver ? undefined : toInstance(found);
    // Once visible, it stays visible until it is gone.
    if (instance !== undefined) this.launches.delete(id);
    if (instance === undefined) this.refuseTooEarly(id, 'ec2:DescribeInstances');
    return instance;
  }

  /** Only for an instance that EC2 describes: an unknown one may be too young. */
  async whyEnded(id: string): Promise<EndedInstance | undefined> {
    const instance = await this.describing.add(id);
    const state = instance?.State?.Name;
    if (state === undefined || !over.has(state)) return undefined;
    const { Code: code = '', Message: message = '' } = instance?.StateReason ?? {};
    return {
      message: [`instance ${id} is ${state}`, message === '' ? code : message].filter((part) => part !== '').join(': '),
      isReclaimed: code.startsWith('Server.Spot'),
    };
  }

  /** Whether it was launched by this process so recently that EC2 may not show it yet. */
  isYoung(id: string): boolean {
    return this.clock.now() - (this.launches.get(id) ?? -Infinity) < visibleAfterMs;
  }

  /** For an instance that was just launched, an empty answer means nothing: throws `Unavailable`. */
  private refuseTooEarly(id: string, action: string, launchedAt = -Infinity): void {
    if (this.clock.now() - Math.max(this.launches.get(id) ?? -Infinity, launchedAt) >= visibleAfterMs) return;
    throw new DomainError('Unavailable', `${action}: ${id} was just launched and is not visible yet`);
  }

  /**
   * Instances launched for a NodePool and a node class of this cluster: both tags are required, since others may have
   * one of them.
   */
  list(): Promise<Ec2Instance[]> {
    return this.find([
      { Name: `tag:${clusterNameTag}`, Values: [this.clusterName] },
      { Name: 'tag-key', Values: [labels.nodePool] },
      { Name: 'tag-key', Values: [labels.ec2NodeClass] },
      { Name: 'instance-state-name', Values: alive },
    ]);
  }

  /** Instances launched for a claim, including terminated ones. */
  ofClaim(uid: string): Promise<Ec2Instance[]> {
    return this.find([{ Name: `tag:${instanceTags.nodeClaimUid}`, Values: [uid] }]);
  }

  /** Throws the error for this instance, even if it shared the call with others. */
  async terminate(id: string, launchedAt?: number): Promise<'terminating' | 'gone'> {
    const outcome = await this.terminating.add(id);
    if (typeof outcome !== 'string') throw outcome;
    if (outcome !== 'unknown') return outcome;
    this.refuseTooEarly(id, 'ec2:TerminateInstances', launchedAt);
    return 'gone';
  }

  /** EC2 merges a restart request into one in progress. */
  async reboot(id: string): Promise<'rebooting' | 'gone'> {
    try {
      await this.calls.rebootInstances({ InstanceIds: [id] });
      return 'rebooting';
    } catch (error) {
      if (isDomainError(error, 'NotFound') || isMalformed(error)) return 'gone';
      if (isDomainError(error, 'Denied') && (await this.isUnknown([id]))) return 'gone';
      throw error;
    }
  }

  /**
   * Existing tags are kept: the user set them, for example a `Name` of the node class. Instances of older Karpenter
   * releases may lack the tag with the cluster's name, which listing needs.
   */
  async tag(id: string, tags: Readonly<Record<string, string>>): Promise<void> {
    const instance = await this.get(id);
    if (instance === undefined) throw new DomainError('NotFound', `ec2:DescribeInstances: ${id} does not exist`);
    const present = instance.tags;
    // EC2 shows an instance before its tags: a `Name` that is not visible yet would be overwritten.
    if (lookUp(present, clusterTag(this.clusterName)) === undefined) {
      throw new DomainError('Unavailable', `ec2:DescribeInstances: the tags of ${id} are not visible yet`);
    }
    const wanted = { ...tags, [clusterNameTag]: this.clusterName };
    const missing = Object.entries(wanted).filter(([key]) => lookUp(present, key) === undefined);
    if (missing.length === 0) return;
    await this.calls.createTags({ Resources: [id], Tags: tagList(Object.fromEntries(missing)) });
  }

  private async find(filters: { Name: string; Values: string[] }[]): Promise<Ec2Instance[]> {
    const reservations = await allPages(
      'ec2:DescribeInstances',
      (token) => this.calls.describeInstances({ Filters: filters, MaxResults: 1000, NextToken: token }),
      (page) => page.Reservations,
    );
    const instances = new Map<string, Ec2Instance>();
    for (const instance of reservations.flatMap((reservation) => reservation.Instances ?? [])) {
      // A partly described instance cannot be attributed and has no known age: it is ignored until EC2 describes it
      // fully.
      if (isWhole(instance)) instances.set(instance.InstanceId ?? '', toInstance(instance));
    }
    return [...instances.values()];
  }

  /** Undefined: EC2 does not know it. */
  private async describe(ids: readonly string[]): Promise<(Instance | undefined)[]> {
    const described = await this.describeOrSplit([...new Set(ids)]);
    const found = new Map(described.map((instance) => [instance.InstanceId, instance]));
    return ids.map((id) => found.get(id));
  }

  /** One unknown id fails the whole call: then each is queried separately. */
  private async describeOrSplit(ids: readonly string[]): Promise<Instance[]> {
    try {
      const reservations = await allPages(
        'ec2:DescribeInstances',
        (token) => this.calls.describeInstances({ InstanceIds: [...ids], NextToken: token }),
        (page) => page.Reservations,
      );
      return reservations.flatMap((reservation) => reservation.Instances ?? []);
    } catch (error) {
      if (!isDomainError(error, 'NotFound') && !isMalformed(error)) throw error;
      if (ids.length === 1) return [];
      const halves = await Promise.all(halve(ids).map((half) => this.describeOrSplit(half)));
      return halves.flat();
    }
  }

  /**
   * A permission conditioned on an instance's tags is denied for one that does not exist. Describe calls need no tags
   * and show whether it exists.
   */
  private async isUnknown(ids: readonly string[]): Promise<boolean> {
    if (ids.length !== 1) return false;
    const found = await this.describeOrSplit(ids).catch(() => undefined);
    return found?.length === 0;
  }

  private async terminateAll(ids: readonly string[]): Promise<Termination[]> {
    const outcome = new Map<string, Termination>();
    await this.terminateOrSplit([...new Set(ids)], outcome, { denials: 0 });
    return ids.map((id) => outcome.get(id) ?? 'terminating');
  }

  /**
   * EC2 terminates all instances of a call or none: a refused one is found by bisection, and the others are terminated.
   */
  private async terminateOrSplit(
    ids: readonly string[],
    outcome: Map<string, Termination>,
    run: { denials: number },
  ): Promise<void> {
    try {
      const answer = await this.calls.terminateInstances({ InstanceIds: [...ids] });
      run.denials = 0;
      const states = new Map(
        answer.TerminatingInstances?.map((change) => [change.InstanceId, change.CurrentState?.Name]),
      );
      for (const id of ids) outcome.set(id, states.get(id) === 'terminated' ? 'gone' : 'terminating');
    } catch (error) {
      const failure = toDomainError(error, 'ec2:TerminateInstances');
      if (failure.type === 'Denied') run.denials += 1;
      if (ids.length === 1 || isOfAll(failure) || run.denials > denialsInARow) {
        const unknown = isGone(failure) || (failure.type === 'Denied' && (await this.isUnknown(ids)));
        for (const id of ids) outcome.set(id, unknown ? 'unknown' : failure);
        return;
      }
      for (const half of halve(ids)) await this.terminateOrSplit(half, outcome, run);
    }
  }
}

/** Whether EC2 describes the identifying fields of an instance (garbage-collection/described-in-part). */
function isWhole({ InstanceId: id, Placement: placement, LaunchTime: launchedAt }: Instance): boolean {
  return id !== undefined && placement?.AvailabilityZone !== undefined && launchedAt !== undefined;
}

/** A failure concerns only this instance. */
type Termination = 'terminating' | 'gone' | 'unknown' | DomainError;

/** After this many consecutive denied calls the permission itself is missing, rather than the tag of some instance. */
const denialsInARow = 20;

/** Whether a refusal is unrelated to the named instances. */
function isOfAll(failure: DomainError): boolean {
  return failure.type === 'Throttled' || failure.type === 'Unavailable' || isOfCaller(failure);
}

function isGone(failure: DomainError): boolean {
  return failure.type === 'NotFound' || isMalformed(failure);
}

function isMalformed(error: unknown): boolean {
  return isDomainError(error) && error.details.code === 'InvalidInstanceID.Malformed';
}

function halve<T>(items: readonly T[]): [T[], T[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

function toInstance(instance: Instance): Ec2Instance {
  const id = instance.InstanceId ?? '';
  const zone = instance.Placement?.AvailabilityZone ?? '';
  const tags = tagRecord(instance.Tags);
  const type = instance.InstanceType ?? '';
  const capacityType = capacityTypeOf(instance);
  return {
    providerId: providerIdOf(zone, id),
    instanceId: id,
    state: instance.State?.Name ?? 'pending',
    instanceType: type,
    zone,
    capacityType,
    ...(instance.ImageId === undefined ? {} : { imageId: instance.ImageId }),
    launchedAt: instance.LaunchTime?.getTime() ?? 0,
    tags,
    labels: {
      [labels.instanceType]: type,
      [labels.zone]: zone,
      [labels.capacityType]: capacityType,
      ...((tags[labels.nodePool] ?? '') === '' ? {} : { [labels.nodePool]: tags[labels.nodePool]! }),
      ...partitionLabel(instance),
    },
    subnetId: instance.SubnetId,
    securityGroupIds: (instance.SecurityGroups ?? []).map((group) => group.GroupId ?? ''),
    capacityReservationId: instance.CapacityReservationId,
    placementGroupId: instance.Placement?.GroupId,
  };
}

/** EC2 reports 0 until the instance has its partition. */
function partitionLabel({ Placement: placement }: Instance): Record<string, string> {
  const partition = placement?.PartitionNumber ?? 0;
  return partition === 0 ? {} : { [awsLabels.placementGroupPartition]: String(partition) };
}

function capacityTypeOf(instance: Instance): string {
  if (instance.InstanceLifecycle === 'spot') return 'spot';
  const preference = instance.CapacityReservationSpecification?.CapacityReservationPreference;
  return instance.CapacityReservationId !== undefined && preference === 'capacity-reservations-only'
    ? 'reserved'
    : 'on-demand';
}

export function providerIdOf(zone: string, instanceId: string): string {
  return `aws:///${zone}/${instanceId}`;
}

/** The instance id of a provider id; undefined if it is not an AWS provider id. */
export function instanceIdOf(providerId: string): string | undefined {
  return /^aws:\/\/\/[^/]*\/(i-[0-9a-z]+)$/.exec(providerId)?.[1];
}

/** The zone of a provider id; empty if it is not an AWS provider id. */
export function zoneOfProviderId(providerId: string): string {
  return /^aws:\/\/\/([^/]*)\//.exec(providerId)?.[1] ?? '';
}

interface CallWindow {
  /** The batch is sent when nothing was added for this long … */
  readonly idleMs: number;
  /** … or this long after the first request was added … */
  readonly maxMs: number;
  /** … or at this size. */
  readonly maxItems: number;
}

/** Batches single requests into one call; every caller gets the answer to its request. */
export class Batcher<Request, Answer> {
  private pending: { request: Request; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  private openedAt = 0;
  private addedAt = 0;
  private timing = false;

  constructor(
    private readonly window: CallWindow,
    private readonly clock: Clock,
    /** Answers in the order of the requests. A failure fails every caller of the batch. */
    private readonly perform: (requests: readonly Request[]) => Promise<readonly Answer[]>,
  ) {}

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.addedAt = this.clock.now();
      if (this.pending.length === 0) this.openedAt = this.addedAt;
      this.pending.push({ request, resolve, reject });
      if (this.pending.length >= this.window.maxItems) this.flush();
      else if (!this.timing) void this.wait();
    });
  }

  private async wait(): Promise<void> {
    this.timing = true;
    while (this.pending.length > 0) {
      const now = this.clock.now();
      const due = Math.min(this.addedAt + this.window.idleMs, this.openedAt + this.window.maxMs);
      const left = due - now;
      // If the clock was set back, the batch would wait for as long.
      if (left <= 0 || now < this.openedAt) this.flush();
      else await this.clock.sleep(left);
    }
    this.timing = false;
  }

  private flush(): void {
    const batch = this.pending;
    this.pending = [];
    this.perform(batch.map(({ request }) => request)).then(
      (answers) => batch.forEach(({ resolve }, index) => resolve(answers[index]!)),
      (error: unknown) => batch.forEach(({ reject }) => reject(error)),
    );
  }
}
