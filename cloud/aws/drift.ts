import type { EC2NodeClass, ResolvedAmi } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations, labels } from '../../api/labels.js';
import { hashDrifted } from '../../core/drift-hash.js';
import type { InstanceType } from '../../core/instance-type.js';
import { admits } from '../../core/launch-options.js';
import { lookUp } from '../../core/own.js';
import { imageFor } from './instance-types.js';
import type { Ec2Instance } from './instances.js';
import type { PlacementGroup } from './placement-groups.js';

/** Whether the claim was launched from other node class content than the current one. Needs no call to EC2. */
export function staticDrift(claim: NodeClaim, nodeClass: EC2NodeClass): string | undefined {
  const stamp = (marks: Readonly<Record<string, string>> | undefined) => ({
    hash: marks?.[annotations.ec2NodeClassHash],
    version: marks?.[annotations.ec2NodeClassHashVersion],
  });
  const drifted = hashDrifted(stamp(claim.metadata.annotations), stamp(nodeClass.metadata.annotations));
  return drifted ? 'NodeClassDrift' : undefined;
}

/** Why an instance no longer matches what the node class resolves to, in Karpenter's order (drift/order-of-reasons). */
export function instanceDrift(
  instance: Ec2Instance,
  claim: NodeClaim,
  nodeClass: EC2NodeClass,
  types: readonly InstanceType[],
): string | undefined {
  const { amis = [], securityGroups = [] } = nodeClass.status ?? {};
  const own = claim.metadata.labels ?? {};
  const name = own[labels.instanceType] ?? instance.instanceType;
  const type = types.find((candidate) => candidate.name === name);
  // A type that no image fits is not in the catalogue.
  const drifted = type === undefined ? fitsNone(amis, own) : runsAnother(instance, imageFor(amis, type.requirements));
  if (drifted) return 'AMIDrift';
  const wanted = new Set(securityGroups.map((group) => group.id));
  const groups = new Set(instance.securityGroupIds);
  const same = groups.size === wanted.size && [...groups].every((group) => wanted.has(group));
  if (wanted.size > 0 && !same) return 'SecurityGroupDrift';
  return placeDrift(instance, nodeClass.status);
}

const runsAnother = ({ imageId }: Ec2Instance, image: ResolvedAmi | undefined): boolean =>
  image !== undefined && differs(imageId, [image.id]);

/** Whether the node class has images and none of them fits a machine with these labels. */
function fitsNone(amis: readonly ResolvedAmi[], own: Readonly<Record<string, string>>): boolean {
  if (amis.length === 0 || own[labels.arch] === undefined) return false;
  return !amis.some(({ requirements }) => requirements.every((each) => admits(each, lookUp(own, each.key))));
}

function placeDrift(instance: Ec2Instance, status: EC2NodeClass['status']): string | undefined {
  const subnets = (status?.subnets ?? []).map((subnet) => subnet.id);
  if (subnets.length > 0 && differs(instance.subnetId, subnets)) return 'SubnetDrift';
  const reservations = (status?.capacityReservations ?? []).map((reservation) => reservation.id);
  const reserved = instance.capacityType === 'reserved';
  return reserved && differs(instance.capacityReservationId, reservations) ? 'CapacityReservationDrift' : undefined;
}

/** Whether a known value is none of the allowed ones. */
function differs(value: string | undefined, allowed: readonly string[]): boolean {
  return value !== undefined && !allowed.includes(value);
}

/**
 * An instance never changes its placement group. For one launched outside of any group, the node class hash detects the
 * change.
 */
export function groupDrift(instance: Ec2Instance, group: PlacementGroup | undefined): string | undefined {
  return differs(instance.placementGroupId, group === undefined ? [] : [group.id]) ? 'PlacementGroupDrift' : undefined;
}
