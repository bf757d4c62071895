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

/** What tests and people can script; see docs of each. Times in milliseconds. */
export interface Settings {
  /** From launch to running. */
  pendingMs: number;
  /** From the call to terminated (or stopped). */
  shuttingDownMs: number;
  /** How long a terminated instance is still described; EC2 keeps it for about an hour. */
  terminatedMs: number;
  /** How long a launched instance is not described yet (eventual consistency). */
  visibleAfterMs: number;
  /** Whether state changes are sent to the queue, as the EventBridge rule of the documentation does. */
  stateChangeEvents: boolean;
  /** A random walk of spot prices; null: they move only when set. */
  spotWalk: { intervalMs: number; volatility: number; seed: string } | null;
  /** Request budgets by action (with `*`), as EC2's token buckets: refill per second, and burst. */
  rateLimits: Record<string, { perSecond: number; burst: number }>;
  capacityReservations: CapacityReservation[];
  placementGroups: PlacementGroup[];
  /** Free addresses to pretend, by subnet id. */
  freeAddresses: Record<string, number>;
  /** Zones under an ARC zonal shift. */
  shiftedZones: string[];
  /** What eks:DescribeCluster says. */
  kubernetesVersion: string;
  joiner: JoinerSettings;
}

export type SettingsPatch = Partial<Omit<Settings, 'joiner'>> & { joiner?: Partial<JoinerSettings> };

export const defaultSettings = (): Settings => ({
  pendingMs: 300,
  shuttingDownMs: 300,
  terminatedMs: 3_600_000,
  visibleAfterMs: 0,
  stateChangeEvents: true,
  spotWalk: null,
  rateLimits: {},
  capacityReservations: [],
  placementGroups: [],
  freeAddresses: {},
  shiftedZones: [],
  kubernetesVersion: '1.36',
  joiner: { joinDelayMs: 700, readyDelayMs: 0, deviceDelayMs: 500, neverJoin: [], stopped: [], conditions: {} },
});

/** The settings with a patch laid over them. */
export function patched(settings: Settings, patch: SettingsPatch): Settings {
  return { ...settings, ...patch, joiner: { ...settings.joiner, ...patch.joiner } };
}
