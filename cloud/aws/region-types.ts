import { ec2NodeClasses, type EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { messageOf } from '../../core/error-message.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { AwsOptions } from './options.js';
import type { AwsParts } from './parts.js';

/**
 * What a node class with the defaults of AL2023 can launch where it has a subnet in every zone of the region: the catalogue of an account without a
 * cluster. Local Zones are left out, because they have other prices.
 */
export async function typesOfRegion(
  { machines, subnets, catalogues }: Pick<AwsParts, 'machines' | 'subnets' | 'catalogues'>,
  { region, onProblem }: Pick<AwsOptions, 'region' | 'onProblem'>,
): Promise<readonly InstanceType[]> {
  // First, so that what refuses every call is said once.
  const { zones: byType } = await machines.get();
  const zones = [...new Set([...byType.values()].flatMap((offered) => [...offered]))]
    .filter((zone) => zone.startsWith(region) && /^[a-z]$/.test(zone.slice(region.length)))
    .sort(compareText);
  await subnets.find([{}]).catch((error: unknown) => onProblem?.(`ids of zones are not known: ${messageOf(error)}`));
  return catalogues.of(nodeClassIn(zones.map((zone) => ({ zone, zoneID: subnets.zoneIdOf(zone) }))));
}

function nodeClassIn(zones: readonly { readonly zone: string; readonly zoneID: string | undefined }[]): EC2NodeClass {
  const nodeClass = ec2NodeClasses.mustParse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      role: 'nodes',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { any: '*' } }],
      securityGroupSelectorTerms: [{ tags: { any: '*' } }],
      associatePublicIPAddress: false,
    },
  });
  const amis = ['amd64', 'arm64'].map((architecture) => ({
    id: architecture,
    requirements: [{ key: labels.arch, operator: 'In' as const, values: [architecture] }],
  }));
  const subnets = zones.map(({ zone, zoneID }) => ({ id: zone, zone, ...(zoneID === undefined ? {} : { zoneID }) }));
  return { ...nodeClass, status: { subnets, amis } };
}
