import type { CallsOptions } from './calls.js';
import type { Clock } from './clock.js';
import type { NetworkOptions } from './http-agents.js';
import type { PriceStore } from './prices.js';

/** Settings of the AWS provider; the names in brackets are Karpenter's (settings/names). */
export interface AwsOptions extends NetworkOptions {
  readonly region: string;
  /** [CLUSTER_NAME] */
  readonly clusterName: string;
  /** Replaces AWS' own endpoints, for test beds and private gateways. */
  readonly endpoint?: string;
  /** [CLUSTER_ENDPOINT] URL of the API server for nodes; from EKS if absent. */
  readonly clusterEndpoint?: string;
  /** [CLUSTER_CA_BUNDLE] Base64 of PEM; if absent that of `apiServerCa`, otherwise from EKS. */
  readonly caBundle?: string;
  /** Base64 of the PEM with which this process verifies the API server. */
  readonly apiServerCa?: () => Promise<string | undefined>;
  /** Address of the cluster's DNS service; undefined if no service with the usual name exists. */
  readonly clusterDns?: () => Promise<string | undefined>;
  /** [FEATURE_GATES ReservedCapacity] Whether capacity reservations are used; default true. */
  readonly reservedCapacity?: boolean;
  /** Address range of services; from EKS if absent. */
  readonly serviceCidr?: string;
  /** Version of the API server as `v1.34.1` or `1.34`; from EKS if absent. */
  readonly kubernetesVersion?: () => Promise<string>;
  /** [INTERRUPTION_QUEUE] Name of the queue; without it only the instance status poll runs. */
  readonly interruptionQueue?: string;
  /** [VM_MEMORY_OVERHEAD_PERCENT] Default 0.075. */
  readonly vmMemoryOverheadPercent?: number;
  /** [RESERVED_ENIS] Default 0. */
  readonly reservedEnis?: number;
  /** [ISOLATED_VPC] The Pricing API cannot be reached. */
  readonly isolatedVpc?: boolean;
  /** [DISABLE_DRY_RUN] Disables dry runs of node classes. */
  readonly disableDryRun?: boolean;
  /** [AWS_FEATURE_GATES NodeClassCEL] `maxPods` and reserved amounts of node classes may be expressions. */
  readonly kubeletExpressions?: boolean;
  /** [ENABLE_ZONAL_SHIFT] Avoids zones under an ARC zonal shift. */
  readonly zonalShift?: boolean;
  /** Stores the last known prices across restarts; with `isolatedVpc` also the source of on-demand prices. */
  readonly priceStore?: PriceStore;
  /** Refresh interval of prices. Default 12 hours. */
  readonly priceRefreshMs?: number;
  readonly clock?: Clock;
  /** Reports problems that operators should know and that made nothing fail. */
  readonly onProblem?: (message: string) => void;
  readonly onCall?: CallsOptions['onCall'];
  readonly onExchange?: CallsOptions['onExchange'];
}
