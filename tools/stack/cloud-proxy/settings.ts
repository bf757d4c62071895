import { publishedLimits, type Budget } from './rate-limits.js';

/** How the simulated kubelets behave; read by the node joiner. */
export interface JoinerSettings {
  /** From running to the Node's registration. */
  joinDelayMs: number;
  /** From registration to Ready. */
  readyDelayMs: number;
  /** From registration to the device plugins' resources (GPUs and the like). */
  deviceDelayMs: number;
  /** Instance ids or types, with `*`, that never join. */
  neverJoin: string[];
  /** Instance ids whose kubelet has stopped: no heartbeat any more. */
  stopped: string[];
  /** Node conditions to impose, by instance id. */
  conditions: Record<
    string,
    { type: string; status: 'True' | 'False' | 'Unknown'; reason?: string; message?: string }[]
  >;
}

export interface CapacityReservation {
  id: string;
  instanceType: string;
  zone: string;
  total: number;
  available: number;
  /** Default `default`. */
  type?: 'default' | 'capacity-block';
  /** Default `targeted`. */
  matchCriteria?: 'open' | 'targeted';
  state?: 'active' | 'expired' | 'cancelled' | 'scheduled';
  /** ISO 8601. */
  endDate?: string;
  ownerId?: string;
  interruptible?: boolean;
  /** What others may use until it is asked back, as an interruptible reservation of this id. */
  allocation?: { id: string; count: number };
  tags?: Record<string, string>;
}

export interface PlacementGroup {
  id: string;
  name: string;
  strategy: 'cluster' | 'spread' | 'partition';
  partitionCount?: number;
  spreadLevel?: 'host' | 'rack';
  tags?: Record<string, string>;
}

/** What a template of AWS Fault Injection Service does to spot instances; other actions are not played. */
export interface ExperimentTemplate {
  readonly actions?: Record<
    string,
    { actionId?: string; parameters?: Record<string, string>; targets?: Record<string, string> }
  >;
  readonly targets?: Record<string, { resourceArns?: readonly string[] }>;
}

/**
 * What tests and people can script; see docs of each. Times in milliseconds. The defaults are what EC2 is like on a good day: it lags
 * behind itself and counts requests; only instances end sooner here than there, where it takes minutes.
 */
export interface Settings {
  /** From launch to running. */
  pendingMs: number;
  /** From the call to terminated (or stopped). */
  shuttingDownMs: number;
  /** How long a terminated instance is still described; EC2 keeps it for about an hour. */
  terminatedMs: number;
  /** How long a launched instance is not described yet (eventual consistency). */
  visibleAfterMs: number;
  /** How much later than the instance its tags are described, and found by filters. */
  tagsAfterMs: number;
  /** How much later than it was made a launch template is listed. */
  templatesListedAfterMs: number;
  /** How long EC2 does not know an instance profile that was made, or given a role, a moment ago. */
  profileUnknownMs: number;
  /** Whether state changes are sent to the queue, as the EventBridge rule of the documentation does. */
  stateChangeEvents: boolean;
  /** A random walk of spot prices; null: they move only when set. */
  spotWalk: { intervalMs: number; volatility: number; seed: string } | null;
  /** Request budgets of EC2 by action (with `*`), as its token buckets: refill per second, and burst. The first that matches counts. */
  rateLimits: Record<string, Budget>;
  capacityReservations: CapacityReservation[];
  placementGroups: PlacementGroup[];
  /** Instances, by id, that termination or stop protection keeps from being terminated. */
  protectedInstances: Record<string, 'termination' | 'stop'>;
  /** How long every answer takes at least, and at most; null: as long as it takes. */
  latencyMs: { from: number; to: number } | null;
  /** Whether the Pricing API can be reached. */
  pricing: boolean;
  /** Whether the network is one without a way out: what has no VPC endpoint (IAM, the Pricing API) cannot be reached. */
  isolatedVpc: boolean;
  /** Whether AWS can be reached through the HTTP proxy alone. */
  proxyRequired: boolean;
  /** Free addresses to pretend, by subnet id. */
  freeAddresses: Record<string, number>;
  /** Zones under an ARC zonal shift. */
  shiftedZones: string[];
  /** Families of instance types, such as `m5`, that the region has; null: all that there are. */
  instanceFamilies: readonly string[] | null;
  /** What eks:DescribeCluster says. */
  kubernetesVersion: string;
  ipFamily: 'ipv4' | 'ipv6';
  joiner: JoinerSettings;
}

export type SettingsPatch = Partial<Omit<Settings, 'joiner'>> & { joiner?: Partial<JoinerSettings> };

export const defaultSettings = (): Settings => ({
  pendingMs: 300,
  shuttingDownMs: 2_000,
  terminatedMs: 3_600_000,
  visibleAfterMs: 2_000,
  tagsAfterMs: 1_000,
  templatesListedAfterMs: 2_000,
  profileUnknownMs: 10_000,
  stateChangeEvents: true,
  spotWalk: null,
  rateLimits: publishedLimits,
  capacityReservations: [],
  placementGroups: [],
  protectedInstances: {},
  latencyMs: null,
  pricing: true,
  isolatedVpc: false,
  proxyRequired: false,
  freeAddresses: {},
  shiftedZones: [],
  instanceFamilies: null,
  kubernetesVersion: '1.36',
  ipFamily: 'ipv4',
  joiner: { joinDelayMs: 700, readyDelayMs: 0, deviceDelayMs: 500, neverJoin: [], stopped: [], conditions: {} },
});

/** The settings with a patch laid over them. */
export function withPatch(settings: Settings, patch: SettingsPatch): Settings {
  return { ...settings, ...patch, joiner: { ...settings.joiner, ...patch.joiner } };
}
