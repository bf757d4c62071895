/** The partition of a region, and the endpoints by which its services are reached. */
export interface Partition {
  /** As in ARNs. */
  readonly name: 'aws' | 'aws-cn' | 'aws-us-gov';
  readonly currency: 'USD' | 'CNY';
  /** Of endpoints. */
  readonly suffix: string;
  /** Host of IAM, which has one for the partition. */
  readonly iam: string;
  /** Hosts of the Pricing API; none in GovCloud. */
  readonly pricing: readonly string[];
}

const prices = (suffix: string, ...regions: string[]): string[] =>
  regions.map((region) => `api.pricing.${region}.${suffix}`);

const partitions: Readonly<Record<Partition['name'], Partition>> = {
  aws: {
    name: 'aws',
    currency: 'USD',
    suffix: 'amazonaws.com',
    iam: 'iam.amazonaws.com',
    pricing: prices('amazonaws.com', 'us-east-1', 'eu-central-1', 'ap-south-1'),
  },
  'aws-cn': {
    name: 'aws-cn',
    currency: 'CNY',
    suffix: 'amazonaws.com.cn',
    iam: 'iam.cn-north-1.amazonaws.com.cn',
    pricing: prices('amazonaws.com.cn', 'cn-northwest-1'),
  },
  'aws-us-gov': {
    name: 'aws-us-gov',
    currency: 'USD',
    suffix: 'amazonaws.com',
    iam: 'iam.us-gov.amazonaws.com',
    pricing: [],
  },
};

export function partitionOf(region: string): Partition {
  if (region.startsWith('cn-')) return partitions['aws-cn'];
  return partitions[region.startsWith('us-gov-') ? 'aws-us-gov' : 'aws'];
}

/** Whether a host is an endpoint of the region, or one that its partition has for all of its regions. */
export function isEndpoint(host: string, region: string): boolean {
  const { suffix, iam, pricing } = partitionOf(region);
  const regional = ['ec2', 'eks', 'sqs', 'ssm', 'arc-zonal-shift'].map((service) => `${service}.${region}.${suffix}`);
  return [...regional, iam, ...pricing].includes(host);
}

/** Names that a certificate for every endpoint of the region has. */
export function endpointNames(region: string): string[] {
  const { suffix, iam, pricing } = partitionOf(region);
  return [`*.${region}.${suffix}`, iam, ...pricing];
}
