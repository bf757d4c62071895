import type { CloudProvider } from '../cloud/port.js';
import type { FeatureGates } from '../core/feature-gates.js';
import type { Log } from '../core/telemetry.js';
import type { ClusterCache, KubeClient } from '../kube/port.js';
import type { PackingSettings } from '../packing/types.js';

/** What it takes to see the cluster as decisions see it. */
export interface ClusterDeps {
  readonly cluster: string;
  readonly kube: KubeClient;
  readonly cache: ClusterCache;
  readonly cloud: CloudProvider;
  readonly packing: PackingSettings;
  readonly gates: FeatureGates;
  readonly log: Log;
  /** Milliseconds of the epoch. */
  readonly now: () => number;
  /** How long a node with pods on their way is left alone, milliseconds (provisioning/nominated-nodes). */
  readonly nominationMs: number;
  /** Whether kube-scheduler is told which node the plan put a pod on (NOMINATE_PODS). */
  readonly nominatePods: boolean;
}
