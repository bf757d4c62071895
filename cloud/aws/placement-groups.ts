import type { EC2NodeClassSpec } from '../../api/aws/ec2-node-class.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode } from './errors.js';

type Selector = NonNullable<EC2NodeClassSpec['placementGroupSelector']>;

/** A placement group for launches. */
export interface PlacementGroup {
  readonly id: string;
  /** `cluster`, `spread` or `partition`. */
  readonly strategy: string;
  /** Number of partitions; 0 for the other strategies. */
  readonly partitions: number;
}

/** Rule `node-classes/placement-groups`. */
const knownMs = 24 * 3_600_000;
/** A group does not change: while EC2 is unavailable it is assumed to exist (node-classes/ready). */
const keepMs = knownMs;

/** Placement groups of node classes by name or id (node-classes/placement-groups). */
export class PlacementGroups {
  private readonly known: CachedByKey<PlacementGroup | undefined>;

  constructor(
    private readonly calls: Pick<AwsCalls, 'describePlacementGroups'>,
    clock: Clock,
  ) {
    this.known = new CachedByKey(clock, knownMs, keepMs);
  }

  /** Undefined without a selector, and if the group does not exist, which is not cached. */
  async find(selector: Selector | undefined): Promise<PlacementGroup | undefined> {
    if (selector === undefined) return undefined;
    const key = JSON.stringify([selector.id, selector.name]);
    const found = await this.known.get(key, () => this.describe(selector));
    if (found === undefined) this.known.forget(key);
    return found;
  }

  private async describe({ id, name }: Selector): Promise<PlacementGroup | undefined> {
    try {
      const { PlacementGroups: groups = [] } = await this.calls.describePlacementGroups({
        ...(id === undefined ? {} : { GroupIds: [id] }),
        ...(name === undefined ? {} : { GroupNames: [name] }),
      });
      const group = groups.find(({ State }) => State === 'available');
      if (group?.GroupId === undefined) return undefined;
      const strategy = group.Strategy ?? 'cluster';
      return { id: group.GroupId, strategy, partitions: strategy === 'partition' ? (group.PartitionCount ?? 1) : 0 };
    } catch (error) {
      if (awsCode(error) === 'InvalidPlacementGroup.Unknown') return undefined;
      throw error;
    }
  }
}

/** Key for unavailable offerings within a group: the group, or its partition. */
export function placementKey(id: string | undefined, partition: string | undefined): string | undefined {
  return id === undefined || partition === undefined ? id : `${id}/${partition}`;
}
