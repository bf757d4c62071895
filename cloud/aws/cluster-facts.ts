import { DomainError } from '../../core/failures.js';
import { Cached } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import type { AwsOptions } from './options.js';

/** What nodes must know of the cluster to join it. */
export interface ClusterFactsValue {
  readonly clusterEndpoint: string;
  readonly caBundle: string | undefined;
  readonly serviceCidr: string | undefined;
}

/** Facts of the cluster: as configured, else as EKS has them. */
export class ClusterFacts {
  private readonly eks: Cached<EksCluster>;

  constructor(
    private readonly options: AwsOptions,
    calls: Pick<AwsCalls, 'describeCluster'>,
    clock: Clock,
  ) {
    this.eks = new Cached(
      clock,
      async () => {
        const { cluster } = await calls.describeCluster(options.clusterName);
        return {
          endpoint: cluster?.endpoint,
          caBundle: cluster?.certificateAuthority?.data,
          serviceCidr:
            cluster?.kubernetesNetworkConfig?.serviceIpv4Cidr ?? cluster?.kubernetesNetworkConfig?.serviceIpv6Cidr,
          version: cluster?.version,
          arn: cluster?.arn,
        };
      },
      3_600_000,
      24 * 3_600_000,
    );
  }

  /** `needsCidr`: the address range of services is wanted too. Throws `DomainError` when EKS cannot be asked. */
  async get(needsCidr: boolean): Promise<ClusterFactsValue> {
    const { clusterEndpoint, caBundle, serviceCidr } = this.options;
    const complete = clusterEndpoint !== undefined && (!needsCidr || serviceCidr !== undefined);
    if (complete) return { clusterEndpoint, caBundle, serviceCidr };
    const eks = await this.eks.get();
    const endpoint = clusterEndpoint ?? eks.endpoint;
    if (endpoint === undefined)
      throw new DomainError('Unavailable', 'eks:DescribeCluster: the cluster has no endpoint yet');
    return {
      clusterEndpoint: endpoint,
      caBundle: caBundle ?? (clusterEndpoint === undefined ? eks.caBundle : undefined),
      serviceCidr: serviceCidr ?? eks.serviceCidr,
    };
  }

  /** The cluster as a resource of AWS. */
  async clusterArn(): Promise<string> {
    const { arn } = await this.eks.get();
    if (arn === undefined) throw new DomainError('Unavailable', 'eks:DescribeCluster: the cluster has no ARN yet');
    return arn;
  }

  /** `major.minor` of the control plane. */
  async kubernetesVersion(): Promise<string> {
    const version = (await this.options.kubernetesVersion?.()) ?? (await this.eks.get()).version ?? '';
    const match = /^v?(\d+\.\d+)/.exec(version);
    if (match === null) throw new DomainError('Unavailable', `"${version}" is no Kubernetes version`);
    return match[1]!;
  }
}

interface EksCluster {
  readonly endpoint: string | undefined;
  readonly caBundle: string | undefined;
  readonly serviceCidr: string | undefined;
  readonly version: string | undefined;
  readonly arn: string | undefined;
}
