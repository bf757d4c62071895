import type { Cloud } from './cloud.js';
import type { LaunchFacts } from './launch-facts.js';
import { param, struct, type Params } from './query.js';

/** Where a launch with this data of a template is placed; EC2 deals partitions out where none is asked for. */
export function placementOf(cloud: Cloud, data: Params): LaunchFacts['placement'] {
  const asked = struct(data, 'Placement');
  const [id, name, number] = ['GroupId', 'GroupName', 'PartitionNumber'].map((each) => param(asked, each));
  const group = cloud.settings.placementGroups.find((each) => each.id === id || each.name === name);
  if (group === undefined) return undefined;
  const { id: groupId, name: groupName, strategy, partitionCount = 7 } = group;
  if (strategy !== 'partition') return { groupId, groupName };
  const members = cloud.instances
    .all()
    .filter(({ state, facts }) => state !== 'terminated' && facts.placement?.groupId === groupId).length;
  return { groupId, groupName, partition: number === undefined ? (members % partitionCount) + 1 : Number(number) };
}
