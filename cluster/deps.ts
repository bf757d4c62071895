import type { CloudProvider } from '../cloud/port.js';
import type { FeatureGates } from '../core/feature-gates.js';
import type { Log } from '../core/telemetry.js';
import type { ClusterCache, KubeClient } from '../kube/port.js';
import type { PackingSettings } from '../packing/types.js';

/** Dependencies for reading the cluster. */
export interface ClusterDeps {
  readonly cluster: string;
  readonly kube: KubeClient;
  readonly cache: ClusterCache;
  readonly cloud: CloudProvider;
  readonly packing: PackingSettings;
  readonly gates: FeatureGates;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How long a node with nominated pods is not disrupted, milliseconds (provisioning/nominated-nodes). */
  readonly nominationMs: number;
  /** Whether pods are nominated to their planned nodes (NOMINATE_PODS). */
  readonly nominatePods: boolean;
}
