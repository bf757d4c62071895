import type { CallsOptions } from './calls.js';
import type { Clock } from './clock.js';
import type { NetworkOptions } from './http-agents.js';
import type { PriceStore } from './prices.js';

/** How the AWS provider is set up; the names in brackets are Karpenter's settings (settings/names). */
export interface AwsOptions extends NetworkOptions {
  readonly region: string;
  /** [CLUSTER_NAME] */
  readonly clusterName: string;
  /** Replaces AWS' own endpoints, for test beds and private gateways. */
  readonly endpoint?: string;
  /** [CLUSTER_ENDPOINT] URL of the API server that nodes join; asked of EKS when absent. */
  readonly clusterEndpoint?: string;
  /** [CLUSTER_CA_BUNDLE] Base64 of PEM; when absent that of `apiServerCa`, else asked of EKS. */
  readonly caBundle?: string;
  /** Base64 of the PEM that this process itself knows the API server by. */
  readonly apiServerCa?: () => Promise<string | undefined>;
  /** Address of the cluster's DNS service; undefined where there is none of the usual name. */
  readonly clusterDns?: () => Promise<string | undefined>;
  /** [FEATURE_GATES ReservedCapacity] Whether capacity reservations are launched into; default true. */
  readonly reservedCapacity?: boolean;
  /** Address range of services; asked of EKS when absent. */
  readonly serviceCidr?: string;
  /** Version of the API server as `v1.34.1` or `1.34`; asked of EKS when absent. */
  readonly kubernetesVersion?: () => Promise<string>;
  /** [INTERRUPTION_QUEUE] Name of the queue; without it only the instance status poll runs. */
  readonly interruptionQueue?: string;
  /** [VM_MEMORY_OVERHEAD_PERCENT] Default 0.075. */
  readonly vmMemoryOverheadPercent?: number;
  /** [RESERVED_ENIS] Default 0. */
  readonly reservedEnis?: number;
  /** [ISOLATED_VPC] The Pricing API cannot be reached. */
  readonly isolatedVpc?: boolean;
  /** [DISABLE_DRY_RUN] Node classes are not tried out by dry runs. */
  readonly disableDryRun?: boolean;
  /** [AWS_FEATURE_GATES NodeClassCEL] `maxPods` and reserved amounts of node classes may be expressions. */
  readonly kubeletExpressions?: boolean;
  /** [ENABLE_ZONAL_SHIFT] Zones under an ARC zonal shift are left alone. */
  readonly zonalShift?: boolean;
  /** Where the last known prices outlive a restart; with `isolatedVpc` also the source of on-demand prices. */
  readonly priceStore?: PriceStore;
  /** How often prices are read again. Default 12 hours. */
  readonly priceRefreshMs?: number;
  readonly clock?: Clock;
  /** Called for what an operator should know but nothing failed on. */
  readonly onProblem?: (message: string) => void;
  readonly onCall?: CallsOptions['onCall'];
  readonly onExchange?: CallsOptions['onExchange'];
}
