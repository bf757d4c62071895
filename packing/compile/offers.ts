import type { InstanceType } from '../../core/instance-type.js';
import type { Daemon } from './daemons.js';
import type { Dimensions } from './dimensions.js';
import { satisfies } from './key-space.js';
import { SharedSizes, minValuesRulesOf } from './min-values.js';
import { portsClash, type HostPort } from '../../core/host-ports.js';
import { toleratingDaemons } from './pools.js';
import type { Pool } from './pools.js';
import type { Profile, Row, Universe } from './universe.js';
import { lookUp } from '../../core/own.js';

/** The capacity for pods on the instance types of one profile, and which types are worth buying. */
interface ProfileOffers {
  /** Indices of the DaemonSets that run on such a node. */
  readonly daemons: readonly number[];
  /** Their overhead. */
  readonly overhead: Float64Array;
  readonly daemonPorts: readonly HostPort[];
  /** Rows, by price, that are not dominated: no other row of the profile is as large at the same price or less. */
  readonly rows: readonly number[];
  /** `capacity[i * dimensions + d]` of `rows[i]`, minus the overhead. */
  readonly capacity: Float64Array;
  /** The largest amount of each resource in any of them. */
  readonly largest: Float64Array;
  /** Like `capacity`: the largest amounts in this row and those before it. */
  readonly reach: Float64Array;
  /**
   * Indices into `rows` of the rows with the best ratio of capacity to price; for a share of a node the others need not
   * be considered.
   */
  readonly bargains: readonly number[];
}

export interface OfferOptions {
  /** Demands of single pods for which minValues may be relaxed because no type meets it; undefined if relaxing is not allowed. */
  readonly relaxedFor: readonly Float64Array[] | undefined;
  /** NodePools whose limits may be reached. */
  readonly limited: ReadonlySet<string>;
}

/** Capacities of profiles, computed on first use. */
export class Offers {
  private readonly byProfile: (ProfileOffers | undefined)[] = [];
  private readonly allocatables = new Map<InstanceType, Float64Array>();
  private readonly daemonsOfPool = new Map<Pool, readonly Daemon[]>();
  /** By NodePool, then by reservation and overhead. */
  private readonly sharedSizes = new Map<Pool, Map<string, SharedSizes>>();

  constructor(
    private readonly universe: Universe,
    private readonly daemons: readonly Daemon[],
    private readonly dimensions: Dimensions,
    private readonly options: OfferOptions,
  ) {}

  of(profile: Profile): ProfileOffers {
    return (this.byProfile[profile.index] ??= this.build(profile));
  }

  /** The allocatable resources of a type (scheduling/allocatable). Huge pages are subtracted from memory. */
  allocatable(type: InstanceType): Float64Array {
    let vector = this.allocatables.get(type);
    if (vector === undefined) {
      vector = new Float64Array(this.dimensions.count);
      const { capacity, overhead } = type;
      for (let d = 0; d < vector.length; d++) {
        const name = this.dimensions.names[d]!;
        vector[d] = (lookUp(capacity, name) ?? 0) - (lookUp(overhead, name) ?? 0);
      }
      for (const name in capacity) if (name.startsWith('hugepages-')) vector[1] = vector[1]! - lookUp(capacity, name)!;
      this.allocatables.set(type, vector);
    }
    return vector;
  }

  /** Whether a node of this row has room for `usage` in addition to its DaemonSets. */
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
    return { daemons: running.map(({ index }) => index), overhead, daemonPorts, ...this.front(profile, overhead) };
  }

  private poolDaemons(pool: Pool): readonly Daemon[] {
    let daemons = this.daemonsOfPool.get(pool);
    if (daemons === undefined) this.daemonsOfPool.set(pool, (daemons = toleratingDaemons(this.daemons, pool.taints)));
    return daemons;
  }

  /** The rows worth buying, with the capacity that a NodeClaim may use. */
  private front(profile: Profile, overhead: Float64Array): Omit<ProfileOffers, 'daemons' | 'overhead' | 'daemonPorts'> {
    const limited = this.options.limited.has(profile.pool.name);
    const dims = overhead.length;
    const kept = undominated(this.candidates(profile, overhead), dims, limited);
    const capacity = new Float64Array(kept.length * dims);
    const reach = new Float64Array(kept.length * dims);
    const largest = new Float64Array(dims);
    kept.forEach((candidate, i) => {
      capacity.set(candidate.capacity, i * dims);
      for (let d = 0; d < dims; d++) if (candidate.capacity[d]! > largest[d]!) largest[d] = candidate.capacity[d]!;
      reach.set(largest, i * dims);
    });
    const rows = kept.map(({ row }) => row);
    const price = Float64Array.from(rows, (row) => this.universe.rows[row]!.offering.price);
    return { rows, capacity, largest, reach, bargains: bargainsOf(price, capacity, dims) };
  }

  /**
   * The cheapest row of each type with its capacity for pods, by price; if the NodePool has minValues, reduced to what
   * enough other types have.
   */
  private candidates(profile: Profile, overhead: Float64Array): Candidate[] {
    const { rows, rank } = this.universe;
    const cheapest = new Map<InstanceType, number>();
    for (const row of profile.rows) {
      const { type } = rows[row]!;
      const known = cheapest.get(type);
      if (known === undefined || rank[row]! < rank[known]!) cheapest.set(type, row);
    }
    const order = [...cheapest.values()].sort((a, b) => rank[a]! - rank[b]!);
    const taken = overhead.some((amount) => amount > 0);
    const found: Candidate[] = [];
    for (const row of order) {
      const { type } = rows[row]!;
      const allocatable = this.allocatable(type);
      const capacity = taken ? less(allocatable, overhead) : allocatable;
      if (isWhole(capacity)) found.push({ row, type, capacity, use: usedOf(rows[row]!) });
    }
    return minValuesRulesOf(profile.pool.requirements).length === 0
      ? found
      : this.cutToShared(found, this.sharedBy(profile, overhead));
  }

  /**
   * Computed over all profiles of the NodePool and the reservation, because a NodeClaim may list types of several
   * profiles.
   */
  private sharedBy({ pool, reservation }: Profile, overhead: Float64Array): SharedSizes {
    let ofPool = this.sharedSizes.get(pool);
    if (ofPool === undefined) this.sharedSizes.set(pool, (ofPool = new Map<string, SharedSizes>()));
    const text = `${reservation ?? ''} ${overhead.join()}`;
    let sizes = ofPool.get(text);
    if (sizes === undefined) {
      const { rows, typeRuns } = this.universe;
      const types = typeRuns[pool.index]!.filter(({ from, to }) => isSold(rows, from, to, reservation)).map(
        ({ type }) => ({ type, capacity: this.allocatable(type) }),
      );
      ofPool.set(text, (sizes = new SharedSizes(types, minValuesRulesOf(pool.requirements))));
    }
    return sizes;
  }

  /**
   * The sizes that enough types share, each on the cheapest type that has it; under BestEffort also whole types for
   * pods that no shared size holds.
   */
  private cutToShared(found: readonly Candidate[], sizes: SharedSizes): Candidate[] {
    const shared = new Map(found.flatMap((own) => sizes.of(own)).map((capacity) => [capacity.join(), capacity]));
    for (const demand of this.options.relaxedFor ?? []) {
      if ([...shared.values()].some((capacity) => covers(capacity, demand))) continue;
      for (const { capacity } of found) if (covers(capacity, demand)) shared.set(capacity.join(), capacity);
    }
    const { rank } = this.universe;
    return [...shared.values()]
      .map((capacity) => {
        const { row, type, use } = found.find((other) => covers(other.capacity, capacity))!;
        return { row, type, capacity, use };
      })
      .sort((a, b) => rank[a.row]! - rank[b.row]!);
  }
}

/**
 * Candidates that are not dominated by a cheaper one of the same size or larger that uses no more of a commitment. In a NodePool
 * with limits all sizes stay, because a larger and cheaper one may exceed the limit.
 */
function undominated(candidates: readonly Candidate[], dims: number, limited: boolean): Candidate[] {
  const kept: Candidate[] = [];
  const most = new Float64Array(dims).fill(-1);
  for (const candidate of candidates) {
    const { capacity } = candidate;
    let exceeds = false;
    for (let d = 0; d < dims; d++) {
      if (capacity[d]! <= most[d]!) continue;
      most[d] = capacity[d]!;
      exceeds = true;
    }
    // A row with more of some resource than all before it is not dominated.
    let beaten = false;
    for (let k = kept.length - 1; k >= 0 && !exceeds && !beaten; k--) {
      const other = kept[k]!;
      if (other.use > candidate.use) continue;
      beaten = limited ? same(other.capacity, capacity) : covers(other.capacity, capacity);
    }
    if (!beaten) kept.push(candidate);
  }
  return kept;
}

/** Compares with the more expensive rows first: they are larger and dominate most of the others. */
function bargainsOf(price: Float64Array, capacity: Float64Array, dims: number): number[] {
  const kept: number[] = [];
  for (let i = price.length - 1; i >= 0; i--) {
    const isBeaten = kept.some((k) => {
      for (let d = 0; d < dims; d++) {
        const own = capacity[i * dims + d]!;
        const other = capacity[k * dims + d]!;
        if (other < own || other * price[i]! < own * price[k]!) return false;
      }
      return true;
    });
    if (!isBeaten) kept.push(i);
  }
  return kept;
}

interface Candidate {
  readonly row: number;
  readonly type: InstanceType;
  readonly capacity: Float64Array;
  /** Its use of the commitment that covers it. */
  readonly use: number;
}

/** Whether one of these rows belongs to the reservation. */
function isSold(rows: readonly Row[], from: number, to: number, reservation: string | undefined): boolean {
  for (let row = from; row < to; row++) if (rows[row]!.profile.reservation === reservation) return true;
  return false;
}

const usedOf = ({ offering }: Row): number => offering.commitment?.use ?? 0;

function less(amounts: Float64Array, taken: Float64Array): Float64Array {
  const left = new Float64Array(amounts.length);
  for (let d = 0; d < left.length; d++) left[d] = amounts[d]! - taken[d]!;
  return left;
}

/** Whether no amount is negative: a node without room for its DaemonSets takes no pods. */
function isWhole(amounts: Float64Array): boolean {
  for (let d = 0; d < amounts.length; d++) if (amounts[d]! < 0) return false;
  return true;
}

function covers(large: Float64Array, small: Float64Array): boolean {
  for (let d = 0; d < small.length; d++) if (large[d]! < small[d]!) return false;
  return true;
}

function same(a: Float64Array, b: Float64Array): boolean {
  for (let d = 0; d < a.length; d++) if (a[d] !== b[d]) return false;
  return true;
}

/** Whether pods with these host ports can run together with the DaemonSets of the profile. */
export function portsFree(offers: ProfileOffers, ports: readonly HostPort[]): boolean {
  return ports.length === 0 || !portsClash(offers.daemonPorts, ports);
}

/** The index of the first row that may hold the usage: each row before it has too little of some resource. */
export function firstInReach({ rows, reach }: Pick<ProfileOffers, 'rows' | 'reach'>, usage: Float64Array): number {
  const dims = usage.length;
  let from = 0;
  for (let to = rows.length; from < to;) {
    const middle = (from + to) >>> 1;
    let d = 0;
    while (d < dims && usage[d]! <= reach[middle * dims + d]!) d++;
    if (d === dims) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Whether some row of the profile has room for one pod of this size. */
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
