import type { InstanceType } from '../../core/instance-type.js';
import { compareText } from '../compare.js';
import type { Daemon } from './daemons.js';
import type { Dimensions } from './dimensions.js';
import { satisfies } from './key-space.js';
import { portsClash, type HostPort } from './pod-key.js';
import { toleratingDaemons } from './pools.js';
import type { Pool } from './pools.js';
import type { Profile, Row, Universe } from './universe.js';

/** What is left for pods on the instance types of one profile, and which of them are worth buying. */
export interface ProfileOffers {
  /** What DaemonSets take on such a node. */
  readonly overhead: Float64Array;
  readonly daemonPorts: readonly HostPort[];
  /** Rows that no other row of the profile matches in size at the same price or less, by price. */
  readonly rows: readonly number[];
  /** `capacity[i * dimensions + d]` of `rows[i]`, overhead taken off. */
  readonly capacity: Float64Array;
  /** The largest amount of each resource in any of them. */
  readonly largest: Float64Array;
}

/** Capacities, worked out when first asked for. */
export class Offers {
  private readonly byProfile: (ProfileOffers | undefined)[] = [];
  private readonly allocatables = new Map<InstanceType, Float64Array>();
  private readonly daemonsOfPool = new Map<Pool, readonly Daemon[]>();

  constructor(
    private readonly universe: Universe,
    private readonly daemons: readonly Daemon[],
    private readonly dimensions: Dimensions,
  ) {}

  of(profile: Profile): ProfileOffers {
    return (this.byProfile[profile.index] ??= this.build(profile));
  }

  /** What the machine leaves for pods and daemons (section 2.5): hugepages come out of memory. */
  allocatable(type: InstanceType): Float64Array {
    let vector = this.allocatables.get(type);
    if (vector === undefined) {
      vector = new Float64Array(this.dimensions.count);
      const { capacity, overhead } = type;
      for (let d = 0; d < vector.length; d++) {
        const name = this.dimensions.names[d]!;
        vector[d] = (capacity[name] ?? 0) - (overhead[name] ?? 0);
      }
      for (const name in capacity) if (name.startsWith('hugepages-')) vector[1] = vector[1]! - capacity[name]!;
      this.allocatables.set(type, vector);
    }
    return vector;
  }

  /** Whether a node of this row holds `usage` besides its daemons. */
  holds(row: Row, usage: Float64Array): boolean {
    const allocatable = this.allocatable(row.type);
    const { overhead } = this.of(row.profile);
    for (let d = 0; d < usage.length; d++) if (usage[d]! + overhead[d]! > allocatable[d]!) return false;
    return true;
  }

  private build(profile: Profile): ProfileOffers {
    const running = this.poolDaemons(profile.pool).filter(({ alternatives }) =>
      alternatives.some((constraint) => satisfies(constraint, profile.values)),
    );
    const overhead = new Float64Array(this.dimensions.count);
    for (const { amounts } of running) {
      const vector = this.dimensions.vector(amounts);
      for (let d = 0; d < overhead.length; d++) overhead[d] = overhead[d]! + vector[d]!;
    }
    const daemonPorts = running.flatMap(({ hostPorts }) => hostPorts);
    return { overhead, daemonPorts, ...this.front(profile, overhead) };
  }

  private poolDaemons(pool: Pool): readonly Daemon[] {
    let daemons = this.daemonsOfPool.get(pool);
    if (daemons === undefined) this.daemonsOfPool.set(pool, (daemons = toleratingDaemons(this.daemons, pool.taints)));
    return daemons;
  }

  /**
   * The rows that are not dominated. A limited pool keeps every size: what is larger at a lower price may exceed its limit.
   */
  private front(profile: Profile, overhead: Float64Array): Pick<ProfileOffers, 'rows' | 'capacity' | 'largest'> {
    const { rows } = this.universe;
    const limited = profile.pool.object.spec.limits !== undefined;
    const order = [...profile.rows].sort((a, b) => compareRows(rows[a]!, rows[b]!));
    const dims = overhead.length;
    const kept: number[] = [];
    const vectors: Float64Array[] = [];
    const seen = new Set<InstanceType>();
    for (const row of order) {
      const { type } = rows[row]!;
      if (seen.has(type)) continue;
      seen.add(type);
      const vector = this.allocatable(type);
      if (vector.some((amount, d) => amount < overhead[d]!)) continue;
      if (vectors.some((other) => (limited ? same(other, vector) : covers(other, vector)))) continue;
      kept.push(row);
      vectors.push(vector);
    }
    const capacity = new Float64Array(kept.length * dims);
    const largest = new Float64Array(dims);
    vectors.forEach((vector, i) => {
      for (let d = 0; d < dims; d++) {
        const free = vector[d]! - overhead[d]!;
        capacity[i * dims + d] = free;
        if (free > largest[d]!) largest[d] = free;
      }
    });
    return { rows: kept, capacity, largest };
  }
}

/** By price, then by name, so that the order of a catalogue decides nothing. */
export function compareRows(a: Row, b: Row): number {
  return (
    a.offering.price - b.offering.price ||
    compareText(a.type.name, b.type.name) ||
    compareText(a.zone, b.zone) ||
    compareText(a.capacityType, b.capacityType)
  );
}

function covers(large: Float64Array, small: Float64Array): boolean {
  for (let d = 0; d < small.length; d++) if (large[d]! < small[d]!) return false;
  return true;
}

function same(a: Float64Array, b: Float64Array): boolean {
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return false;
  return true;
}

/** Whether pods with these host ports can run beside the daemons of the profile. */
export function portsFree(offers: ProfileOffers, ports: readonly HostPort[]): boolean {
  return ports.length === 0 || !portsClash(offers.daemonPorts, ports);
}

/** Whether some row of the profile holds one pod of this size, alone. */
export function holdsOne({ rows, capacity, largest }: ProfileOffers, demand: Float64Array): boolean {
  const dims = demand.length;
  for (let d = 0; d < dims; d++) if (demand[d]! > largest[d]!) return false;
  for (let i = rows.length - 1; i >= 0; i--) {
    let d = 0;
    while (d < dims && demand[d]! <= capacity[i * dims + d]!) d++;
    if (d === dims) return true;
  }
  return false;
}
