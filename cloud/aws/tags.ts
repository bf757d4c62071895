import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { instanceTags, labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { nameOf } from '../../core/names.js';

/** Name of the instance's NodeClaim; written at launch so that the instance is found if the response is lost. */
const claimTag = 'karpenter.sh/nodeclaim';

/** Its value is the cluster's name; instances are listed by it. */
export const clusterNameTag = 'eks:eks-cluster-name';

export function clusterTag(clusterName: string): string {
  return `kubernetes.io/cluster/${clusterName}`;
}

/** Tags of everything created for a node class (launch/tags); user tags cannot override them. */
export function nodeClassTags(nodeClass: EC2NodeClass, clusterName: string): Record<string, string> {
  return {
    ...nodeClass.spec.tags,
    [clusterTag(clusterName)]: 'owned',
    [clusterNameTag]: clusterName,
    [labels.ec2NodeClass]: nameOf(nodeClass),
  };
}

/**
 * The name of a NodeClaim's NodePool; empty if it has none. The tag is set in any case, since instances are listed by
 * it.
 */
export const nodePoolNameOf = ({ metadata }: NodeClaim): string => metadata.labels?.[labels.nodePool] ?? '';

/** Tags of the instance, its volumes and its fleet. */
export function launchTags(nodeClass: EC2NodeClass, claim: NodeClaim, clusterName: string): Record<string, string> {
  return {
    ...nodeClassTags(nodeClass, clusterName),
    [labels.nodePool]: nodePoolNameOf(claim),
    [claimTag]: nameOf(claim),
    [instanceTags.nodeClaimUid]: claim.metadata.uid ?? '',
  };
}

/** Tags in the format of EC2's API, sorted by key. */
export function tagList(tags: Readonly<Record<string, string>>): { Key: string; Value: string }[] {
  return Object.entries(tags)
    .sort(([a], [b]) => compareText(a, b))
    .map(([Key, Value]) => ({ Key, Value }));
}

export function tagRecord(
  tags: readonly { Key?: string | undefined; Value?: string | undefined }[] | undefined,
): Record<string, string> {
  return Object.fromEntries((tags ?? []).map(({ Key, Value }) => [Key ?? '', Value ?? '']));
}

/** EC2 filters for tags that must all exist; the value `*` matches any value. */
export function tagFilters(tags: Readonly<Record<string, string>> | undefined): { Name: string; Values: string[] }[] {
  return Object.entries(tags ?? {}).map(([key, value]) =>
    value === '*' ? { Name: 'tag-key', Values: [key] } : { Name: `tag:${key}`, Values: [value] },
  );
}
