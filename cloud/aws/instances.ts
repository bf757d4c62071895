import type { Instance } from '@aws-sdk/client-ec2';
import { instanceTags, labels } from '../../api/labels.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import type { CloudInstance } from '../port.js';
import { Batcher } from './batcher.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { allPages } from './pages.js';
import { clusterTag, tagList, tagRecord } from './tags.js';

/** An instance with what drift looks at. */
export interface Ec2Instance extends CloudInstance {
  readonly subnetId: string | undefined;
  readonly securityGroupIds: readonly string[];
  readonly capacityReservationId: string | undefined;
  readonly placementGroupId: string | undefined;
}

const batchWindow = { idleMs: 100, maxMs: 1_000, maxItems: 500 };
const alive = ['pending', 'running', 'shutting-down', 'stopping', 'stopped'];
/** EC2's answers may lag behind its own launches by this much. */
const visibleAfterMs = 60_000;

/** Reads, tags and terminates instances; single requests are gathered into few calls (section 3.3). */
export class Instances {
  private readonly describing: Batcher<string, Ec2Instance | undefined>;
  private readonly terminating: Batcher<string, 'terminating' | 'gone'>;
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

  /** An instance that was just launched exists, even if EC2 does not say so yet. */
  launched(id: string): void {
    const now = this.clock.now();
    for (const [other, at] of this.launches) if (now - at > visibleAfterMs) this.launches.delete(other);
    this.launches.set(id, now);
  }

  async get(id: string): Promise<Ec2Instance | undefined> {
    const instance = await this.describing.add(id);
    // Seen once, it will not go unseen again until it is gone.
    if (instance !== undefined) this.launches.delete(id);
    if (instance === undefined && this.clock.now() - (this.launches.get(id) ?? -Infinity) < visibleAfterMs) {
      throw new DomainError('Unavailable', `ec2:DescribeInstances: ${id} was just launched and is not visible yet`);
    }
    return instance;
  }

  list(): Promise<Ec2Instance[]> {
    return this.find([
      { Name: `tag:${clusterTag(this.clusterName)}`, Values: ['owned'] },
      { Name: 'tag-key', Values: [labels.nodePool] },
      { Name: 'instance-state-name', Values: alive },
    ]);
  }

  /** Instances that were launched for a claim, terminated ones included. */
  ofClaim(uid: string): Promise<Ec2Instance[]> {
    return this.find([{ Name: `tag:${instanceTags.nodeClaimUid}`, Values: [uid] }]);
  }

  terminate(id: string): Promise<'terminating' | 'gone'> {
    return this.terminating.add(id);
  }

  /** A restart that is asked for while one is under way is the same one to EC2. */
  async reboot(id: string): Promise<'rebooting' | 'gone'> {
    try {
      await this.calls.rebootInstances({ InstanceIds: [id] });
      return 'rebooting';
    } catch (error) {
      if (isDomainError(error, 'NotFound') || isMalformed(error)) return 'gone';
      throw error;
    }
  }

  async tag(id: string, tags: Readonly<Record<string, string>>): Promise<void> {
    await this.calls.createTags({ Resources: [id], Tags: tagList(tags) });
  }

  private async find(filters: { Name: string; Values: string[] }[]): Promise<Ec2Instance[]> {
    const reservations = await allPages(
      (token) => this.calls.describeInstances({ Filters: filters, MaxResults: 1000, NextToken: token }),
      (page) => page.Reservations,
    );
    return reservations.flatMap(({ Instances: instances = [] }) => instances.map(toInstance));
  }

  private async describe(ids: readonly string[]): Promise<(Ec2Instance | undefined)[]> {
    const unique = [...new Set(ids)];
    const found = new Map<string, Ec2Instance>();
    for (const instance of await this.describeOrSplit(unique)) found.set(instance.instanceId, instance);
    return ids.map((id) => {
      const instance = found.get(id);
      return instance?.state === 'terminated' ? undefined : instance;
    });
  }

  /** One unknown id fails a whole call: then each is asked for by itself. */
  private async describeOrSplit(ids: readonly string[]): Promise<Ec2Instance[]> {
    try {
      const reservations = await allPages(
        (token) => this.calls.describeInstances({ InstanceIds: [...ids], NextToken: token }),
        (page) => page.Reservations,
      );
      return reservations.flatMap(({ Instances: instances = [] }) => instances.map(toInstance));
    } catch (error) {
      if (!isDomainError(error, 'NotFound') && !isMalformed(error)) throw error;
      if (ids.length === 1) return [];
      const halves = await Promise.all(halve(ids).map((half) => this.describeOrSplit(half)));
      return halves.flat();
    }
  }

  private async terminateAll(ids: readonly string[]): Promise<('terminating' | 'gone')[]> {
    const outcome = await this.terminateOrSplit([...new Set(ids)]);
    return ids.map((id) => outcome.get(id) ?? 'terminating');
  }

  private async terminateOrSplit(ids: readonly string[]): Promise<Map<string, 'terminating' | 'gone'>> {
    try {
      const answer = await this.calls.terminateInstances({ InstanceIds: [...ids] });
      const states = new Map(
        answer.TerminatingInstances?.map((change) => [change.InstanceId, change.CurrentState?.Name]),
      );
      return new Map(ids.map((id) => [id, states.get(id) === 'terminated' ? 'gone' : 'terminating']));
    } catch (error) {
      if (!isDomainError(error, 'NotFound') && !isMalformed(error)) throw error;
      if (ids.length === 1) return new Map(ids.map((id) => [id, 'gone']));
      const halves = await Promise.all(halve(ids).map((half) => this.terminateOrSplit(half)));
      return new Map(halves.flatMap((half) => [...half]));
    }
  }
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
      ...(tags[labels.nodePool] === undefined ? {} : { [labels.nodePool]: tags[labels.nodePool]! }),
    },
    subnetId: instance.SubnetId,
    securityGroupIds: (instance.SecurityGroups ?? []).map((group) => group.GroupId ?? ''),
    capacityReservationId: instance.CapacityReservationId,
    placementGroupId: instance.Placement?.GroupId,
  };
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

/** The instance id of a provider id; undefined when it is none of AWS. */
export function instanceIdOf(providerId: string): string | undefined {
  return /^aws:\/\/\/[^/]*\/(i-[0-9a-z]+)$/.exec(providerId)?.[1];
}

/** The zone of a provider id; empty when it is none of AWS. */
export function zoneOfProviderId(providerId: string): string {
  return /^aws:\/\/\/([^/]*)\//.exec(providerId)?.[1] ?? '';
}
