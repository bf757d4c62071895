import type { AmiFamily } from '../../api/aws/ec2-node-class.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { Cached } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import type { AwsOptions } from './options.js';

/** Data of the cluster that nodes need to join it. */
interface ClusterFactsValue {
  readonly clusterEndpoint: string;
  readonly caBundle: string | undefined;
  readonly serviceCidr: string | undefined;
}

const hour = 3_600_000;

/** Data of the cluster: from settings, otherwise from EKS. */
export class ClusterFacts {
  private readonly eks: Cached<EksCluster>;
  private readonly dns: Cached<string | undefined>;

  constructor(
    private readonly options: AwsOptions,
    calls: Pick<AwsCalls, 'describeCluster'>,
    clock: Clock,
  ) {
    this.dns = new Cached(clock, async () => options.clusterDns?.(), hour, 24 * hour);
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
      hour,
      24 * hour,
    );
  }

  /**
   * What a node of `family` needs. EKS is asked only for values that are not configured. Throws `DomainError`:
   * `Unavailable` if EKS cannot be asked, `NodeClassNotReady` if there are no CA certificates and the family needs
   * them.
   */
  async get(family: AmiFamily): Promise<ClusterFactsValue> {
    const { clusterEndpoint, serviceCidr } = this.options;
    const needsCidr = family === 'AL2023' && serviceCidr === undefined;
    const eks = clusterEndpoint === undefined || needsCidr ? await this.eks.get() : undefined;
    const endpoint = clusterEndpoint ?? eks?.endpoint;
    if (endpoint === undefined)
      throw new DomainError('Unavailable', 'eks:DescribeCluster: the cluster has no endpoint yet');
    const caBundle = family === 'Custom' ? this.options.caBundle : await this.certificates(eks);
    if (caBundle === undefined && (family === 'AL2023' || family === 'Bottlerocket')) throw noCertificates(family);
    return { clusterEndpoint: endpoint, caBundle, serviceCidr: serviceCidr ?? eks?.serviceCidr };
  }

  /** In this order: the setting, EKS if it was asked already, the certificates that this process trusts, EKS. */
  private async certificates(eks: EksCluster | undefined): Promise<string | undefined> {
    const known = this.options.caBundle ?? eks?.caBundle ?? (await this.options.apiServerCa?.());
    if (known !== undefined || eks !== undefined) return known;
    try {
      return (await this.eks.get()).caBundle;
    } catch (error) {
      // The cluster is not an EKS cluster, or this process has no permission to describe it.
      if (isDomainError(error, 'NotFound') || isDomainError(error, 'Denied')) return undefined;
      throw error;
    }
  }

  /** The address of the cluster's DNS service, if a service with the usual name exists. */
  clusterDns(): Promise<string | undefined> {
    return this.dns.get();
  }

  /** ARN of the cluster. */
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

function noCertificates(family: AmiFamily): DomainError {
  return new DomainError(
    'NodeClassNotReady',
    `ClusterCAResolutionFailed: ${family} nodes need the certificates of the API server, and neither CLUSTER_CA_BUNDLE, ` +
      'the kubeconfig nor eks:DescribeCluster has them',
  );
}

interface EksCluster {
  readonly endpoint: string | undefined;
  readonly caBundle: string | undefined;
  readonly serviceCidr: string | undefined;
  readonly version: string | undefined;
  readonly arn: string | undefined;
}
