import type {
  CreateTagsCommandInput,
  DescribeInstancesCommandInput,
  Instance,
  TerminateInstancesCommandInput,
} from '@aws-sdk/client-ec2';
import { labels } from '../../../api/labels.js';
import { passes, tagValues } from '../../../tools/stack/cloud-proxy/filters.js';
import { refusal } from '../../builders/aws-world.js';
import { now } from './account.js';

/** Tags of an instance that was launched for a NodePool. */
export const usualTags: Readonly<Record<string, string>> = {
  'kubernetes.io/cluster/test-cluster': 'owned',
  'eks:eks-cluster-name': 'test-cluster',
  [labels.nodePool]: 'default',
  [labels.ec2NodeClass]: 'default',
};

export const without = (key: string): Record<string, string> =>
  Object.fromEntries(Object.entries(usualTags).filter(([each]) => each !== key));

export interface Made extends Omit<Partial<Instance>, 'Tags'> {
  readonly tags?: Readonly<Record<string, string>>;
}

const zone = 'test-zone-1a';
export const providerIdOf = (id: string): string => `aws:///${zone}/${id}`;

/** What EC2 does with instances: it finds them by id and by filter, tags them and ends them. */
export class InstancesOfAccount {
  private readonly all = new Map<string, Instance>();
  /** How many calls there were, by their names. */
  readonly asked: Record<string, number> = {};

  put(id: string, { tags = usualTags, ...of }: Made = {}): void {
    this.all.set(id, {
      ...{ InstanceId: id, InstanceType: 'm5.large', State: { Name: 'running' } },
      ...{ Placement: { AvailabilityZone: zone }, LaunchTime: new Date(now - 60_000) },
      Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      ...of,
    });
  }

  remove(id: string): void {
    this.all.delete(id);
  }

  state(id: string): string | undefined {
    return this.all.get(id)?.State?.Name;
  }

  tags(id: string): Record<string, string> {
    return Object.fromEntries((this.all.get(id)?.Tags ?? []).map(({ Key = '', Value = '' }) => [Key, Value]));
  }

  readonly calls: object = {
    describeInstances: ({ InstanceIds: ids, Filters = [] }: DescribeInstancesCommandInput) =>
      this.answer('describeInstances', () => {
        const filters = new Map(Filters.map(({ Name = '', Values = [] }, i) => [`${i} ${Name}`, Values]));
        const found = ids === undefined ? [...this.all.values()] : ids.map((id) => this.known(id));
        return { Reservations: [{ Instances: found.filter((each) => passes(filters, valuesOf(each))) }] };
      }),
    terminateInstances: ({ InstanceIds: ids = [] }: TerminateInstancesCommandInput) =>
      this.answer('terminateInstances', () => {
        for (const id of ids) this.all.set(id, { ...this.known(id), State: { Name: 'shutting-down' } });
        return {
          TerminatingInstances: ids.map((InstanceId) => ({ InstanceId, CurrentState: { Name: 'shutting-down' } })),
        };
      }),
    createTags: ({ Resources: [id = ''] = [], Tags = [] }: CreateTagsCommandInput) =>
      this.answer('createTags', () => {
        const instance = this.known(id);
        const kept = (instance.Tags ?? []).filter(({ Key }) => Tags.every((tag) => tag.Key !== Key));
        this.all.set(id, { ...instance, Tags: [...kept, ...Tags] });
        return {};
      }),
  };

  private known(id: string): Instance {
    const instance = this.all.get(id);
    if (instance === undefined) throw refusal('InvalidInstanceID.NotFound');
    return instance;
  }

  private answer<T>(call: string, effect: () => T): Promise<T> {
    this.asked[call] = (this.asked[call] ?? 0) + 1;
    return new Promise((resolve) => resolve(effect()));
  }
}

/** One filter may come twice: its name has a number before it. */
const valuesOf =
  ({ State, Tags = [] }: Instance) =>
  (numbered: string): readonly string[] | undefined => {
    const name = numbered.slice(numbered.indexOf(' ') + 1);
    if (name === 'instance-state-name') return [State?.Name ?? ''];
    return tagValues(name, new Map(Tags.map(({ Key = '', Value = '' }) => [Key, Value])));
  };
