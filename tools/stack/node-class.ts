import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';

/** The name of the nodes' IAM role in the local cloud. */
export const nodeRole = (cluster: string): string => `StowageNodeRole-${cluster}`;

/** The spec of an EC2NodeClass that finds what the local cloud has for the cluster (seed.ts). */
export function nodeClassSpec(
  cluster: string,
): Pick<EC2NodeClass['spec'], 'role' | 'amiSelectorTerms' | 'subnetSelectorTerms' | 'securityGroupSelectorTerms'> {
  const discovery = [{ tags: { 'karpenter.sh/discovery': cluster } }];
  return {
    role: nodeRole(cluster),
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: discovery,
    securityGroupSelectorTerms: discovery,
  };
}
