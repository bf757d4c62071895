import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { varietiesOf } from '../compile/min-values.js';
import type { HostPort } from '../compile/pod-key.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import type { OpenClaim } from '../place/open-claim.js';
import { limitUse, type PoolLimit } from '../place/bin-problem.js';
import type { Feasibility } from '../place/feasibility.js';
import { allows, meetsHostAffinity, isFree } from '../place/admission.js';
import { hostRoom } from '../place/host-rules.js';
import { removePorts, type PlacedPod, type NodeState } from '../place/node-states.js';
import type { SpreadLookahead } from '../place/spread-lookahead.js';
import type { Group } from '../topology/groups.js';
import { siteOf, type Ledger } from '../topology/ledger.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { ExistingNodes } from './existing-nodes.js';
import { ProfileLists, type Place } from './profile-lists.js';

/** A node to launch while pods come and go: everything that a further pod has to fit in with. */
export interface TentativeNode {
  /** Stands for the name of the node to come in counts of the host name. */
  readonly host: string;
  readonly ports: HostPort[];
  readonly attach: undefined;
  readonly members: TentativeMember[];
  readonly usage: Float64Array;
  /** What it may be launched as; all of pools of one weight. */
  profiles: readonly Profile[];
  /** Topology keys that must not stay open. */
  pins: ReadonlySet<string>;
  /** The cheapest row that holds it. */
  row: number;
  /** By limit: what it needs beyond the row's use, for minValues. */
  reserve: readonly number[];
  count: number;
}

export interface TentativeMember {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
  readonly pods: Pod[];
}

/** Pods of a class as they stand on one level. */
export interface ClassAtLevel {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly levelIndex: number;
  readonly rules: Rules;
}

/** A way to place one pod. */
interface Move {
  /** Undefined where a node is to be launched for it. */
  readonly tentative: TentativeNode | undefined;
  readonly profiles: readonly Profile[];
  readonly row: number;
  readonly reserve: readonly number[];
  /** What it adds to the price, dollars per hour. */
  readonly cost: number;
  /** How many pods of its own rules are in its domains. */
  readonly crowd: number;
}

/** How moves are chosen. */
export interface PlacementChoice {
  /** `fill` takes any node that holds the pod, the one with fewest pods first, as Karpenter does; `cheap` what costs least. */
  readonly mode: 'fill' | 'cheap';
  /** A domain that counts as dearer or cheaper than it is. */
  readonly favour?: { readonly key: string; readonly domain: string; readonly factor: number };
  /** Nodes of lighter pools are made larger as well: Karpenter fills them whatever their weight. */
  readonly anyWeight?: boolean;
  /** Pods whose spread counts others without it come after those: these do not heed it, and it holds around them. */
  readonly countersLast?: boolean;
  /** Where the next pod could be: a place that would shut it out of all of them is not taken. */
  readonly places?: readonly DomainOf[];
}

type DomainOf = (key: string) => string | undefined;

interface BoardContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly ledger: Ledger;
  /** Profiles that limits have left no room in. */
  readonly exhausted: ReadonlySet<Profile>;
  readonly nodes: readonly NodeState[];
  readonly lookahead: SpreadLookahead;
  /** What limits leave; kept up to date. */
  readonly limits: readonly PoolLimit[];
  /** By limit, what the claim needs beyond its row so that its pool's minValues are met; undefined where they cannot be. */
  readonly reserveOf: (claim: OpenClaim) => readonly number[] | undefined;
}

const none: readonly number[] = [];
const noKey = (): boolean => false;
/** What it costs, in rows looked at, to work out which types a claim may list. */
const listingWork = 100;
/** So many domains are looked at with the rows in them; where rules tell more apart, each further one is work. */
const fewPlaces = 32;

/**
 * The nodes to launch, pod by pod, with every rule in force: a pod is put where it may be, and taken away again with all that
 * hangs on it. Slower than bins and exact: for what they left over, and to improve small plans.
 */
export class Board {
  readonly tentativeNodes: TentativeNode[] = [];
  /** Nodes that exist. */
  readonly existing: ExistingNodes;
  /** Rows, nodes to launch and domains looked at so far. */
  work = 0;
  private readonly undoing: (() => void)[] = [];
  private readonly lists: ProfileLists;
  private readonly varied: ReadonlySet<Pool>;
  private hosts = 0;

  constructor(readonly context: BoardContext) {
    const { pools } = context.compiled;
    this.existing = new ExistingNodes(context, this.undoing);
    this.lists = new ProfileLists(context.compiled.space, context.feasibility);
    this.varied = new Set(pools.filter(({ requirements }) => varietiesOf(requirements).length > 0));
  }

  /** Dollars per hour. */
  price(): number {
    let price = 0;
    for (const { row } of this.tentativeNodes) price += this.priceOf(row);
    return price;
  }

  private priceOf(row: number): number {
    return this.context.compiled.universe.rows[row]!.offering.price;
  }

  atLevel(podClass: PodClass, levelIndex: number): ClassAtLevel {
    const level = this.context.compiled.levelsByShape[podClass.shape.index]![levelIndex]!;
    return { podClass, level, levelIndex, rules: this.context.book.of(podClass.shape, level) };
  }

  /** Every class with nothing preferred any more. */
  required(): ClassAtLevel[] {
    const { queue, levelsByShape } = this.context.compiled;
    return queue.map((podClass) => this.atLevel(podClass, levelsByShape[podClass.shape.index]!.length - 1));
  }

  /** Takes over a claim that bins made; its limits are accounted for already, and its counts but for the host name. */
  adopt({ row, members, pinnedKeys }: OpenClaim): void {
    const { feasibility, compiled, ledger } = this.context;
    const own = compiled.universe.rows[row]!.profile;
    const tentative = this.newTentativeNode(row, feasibility.intern([own]), pinnedKeys);
    let profiles: readonly Profile[] | undefined;
    for (const { podClass, level, pods } of members) {
      const levelIndex = compiled.levelsByShape[podClass.shape.index]!.indexOf(level);
      const atLevel = this.atLevel(podClass, levelIndex);
      const holding = feasibility.holding(podClass, level);
      profiles = profiles === undefined ? holding : this.lists.meet(profiles, holding);
      tentative.members.push({ ...atLevel, pods: [...pods] });
      this.count(tentative, atLevel, pods.length);
      ledger.record(atLevel.rules, pods.length, siteOf(own, tentative.host), noKey);
    }
    const keys = [...pinnedKeys].map((key) => compiled.space.find(key)!);
    const alike = (profiles ?? []).filter(
      ({ pool, values, reservation }) =>
        pool.weight === own.pool.weight &&
        reservation === own.reservation &&
        keys.every(
          (key) => compiled.space.likeness(key, values[key]) === compiled.space.likeness(key, own.values[key]),
        ),
    );
    if (alike.includes(own)) tentative.profiles = feasibility.intern(alike);
    if (this.varied.has(own.pool))
      this.reserve((tentative.reserve = this.context.reserveOf(claimOf(tentative)) ?? none), 1);
    this.tentativeNodes.push(tentative);
  }

  /** Gives back what the tentative nodes hold of limits beyond their rows. */
  release(): void {
    for (const { reserve } of this.tentativeNodes) this.reserve(reserve, -1);
  }

  /** The tentative nodes as claims. */
  claims(): OpenClaim[] {
    return this.tentativeNodes.map((tentative) => claimOf(tentative));
  }

  private newTentativeNode(row: number, profiles: readonly Profile[], pins: ReadonlySet<string>): TentativeNode {
    return {
      host: `\u0000${this.hosts++}`,
      ports: [],
      attach: undefined,
      members: [],
      usage: new Float64Array(this.context.compiled.dimensions.count),
      profiles,
      pins,
      row,
      reserve: none,
      count: 0,
    };
  }

  private count(tentative: TentativeNode, { podClass }: ClassAtLevel, pods: number): void {
    const demand = this.context.feasibility.demand(podClass);
    for (let d = 0; d < demand.length; d++) tentative.usage[d] = tentative.usage[d]! + pods * demand[d]!;
    tentative.count += pods;
    if (pods > 0) tentative.ports.push(...podClass.shape.hostPorts);
  }

  /** Puts the pod where the choice would have it, on the first of the levels up to `lastLevel` that has a place. */
  insert(podClass: PodClass, pod: Pod, lastLevel: number, choice: PlacementChoice): boolean {
    for (let levelIndex = 0; levelIndex <= lastLevel; levelIndex++) {
      const atLevel = this.atLevel(podClass, levelIndex);
      if (this.context.lookahead.concerns(atLevel.rules)) {
        const isIn = this.insertOn(atLevel, pod, { ...choice, places: this.allPlaces(atLevel) });
        if (isIn) return true;
      }
      if (this.insertOn(atLevel, pod, choice)) return true;
    }
    return false;
  }

  private insertOn(atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): boolean {
    const node = this.existing.find({ ...atLevel, pod }, (domainOf) => this.staysOpen(atLevel, domainOf, choice));
    this.work += this.existing.lookedAt();
    if (node !== undefined) {
      this.existing.put(node, { ...atLevel, pod });
      return true;
    }
    const move = this.choose(atLevel, pod, choice);
    if (move === undefined) return false;
    this.put(move, atLevel, pod);
    return true;
  }

  /** Wherever a pod like this could be if it were alone. */
  private allPlaces({ podClass, level, rules }: ClassAtLevel): DomainOf[] {
    const launched = this.lists.placesOf(this.context.feasibility.holding(podClass, level), rules.keys).map(
      ({ values }): DomainOf =>
        (key) =>
          this.valueAt(values, key),
    );
    return [...launched, ...this.existing.places({ podClass, rules })];
  }

  private staysOpen({ rules }: ClassAtLevel, domainOf: DomainOf, { places }: PlacementChoice): boolean {
    return places === undefined || this.context.lookahead.staysOpen(rules, domainOf, places);
  }

  /** Puts the pod on this node, which exists or is to be launched, on the first of the levels where it may be. */
  insertInto(host: TentativeNode | NodeState, podClass: PodClass, pod: Pod, lastLevel: number): boolean {
    for (let levelIndex = 0; levelIndex <= lastLevel; levelIndex++) {
      const atLevel = this.atLevel(podClass, levelIndex);
      if (!('members' in host)) {
        if (!this.existing.admits(host, { ...atLevel, pod })) continue;
        this.existing.put(host, { ...atLevel, pod });
        return true;
      }
      const move = this.joining(host, atLevel, pod, { mode: 'cheap' });
      if (move === undefined) continue;
      this.put(move, atLevel, pod);
      return true;
    }
    return false;
  }

  /** Takes one pod of the member away from the node that is to be launched. */
  take(tentative: TentativeNode, member: TentativeMember): void {
    const { members, ports } = tentative;
    const at = members.indexOf(member);
    const pod = member.pods.pop()!;
    const portsBefore = [...ports];
    if (member.pods.length === 0) members.splice(at, 1);
    this.count(tentative, member, -1);
    removePorts(ports, member.podClass.shape.hostPorts);
    this.record(tentative, member, -1);
    this.undoing.push(() => {
      this.record(tentative, member, 1);
      this.count(tentative, member, 1);
      ports.splice(0, Infinity, ...portsBefore);
      if (member.pods.length === 0) members.splice(at, 0, member);
      member.pods.push(pod);
    });
  }

  /** The pod on an existing node as one to be placed, on no lower a level than now. */
  unplacedOf({ podClass, rules, pod }: PlacedPod): { podClass: PodClass; pod: Pod; lastLevel: number } {
    const lastLevel = this.context.compiled.levelsByShape[podClass.shape.index]!.indexOf(rules.level);
    return { podClass, pod, lastLevel };
  }

  /** Whether a pod of the member can be taken away alone: nobody there is there for it. */
  isFree({ members, host }: TentativeNode, { rules }: TentativeMember): boolean {
    return isFree(this.context.ledger, rules, host, members);
  }

  private choose(atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): Move | undefined {
    let best: Move | undefined;
    if (choice.mode === 'fill') {
      for (const tentative of this.tentativeNodes) {
        if (best?.tentative !== undefined && tentative.count >= best.tentative.count) continue;
        best = this.joining(tentative, atLevel, pod, choice) ?? best;
      }
      return best ?? this.opening(atLevel, choice);
    }
    for (const tentative of this.tentativeNodes) best = better(best, this.joining(tentative, atLevel, pod, choice));
    return best !== undefined && best.cost <= 0 ? best : better(best, this.opening(atLevel, choice));
  }

  /** How the pod can join the tentative node, if it can. */
  private joining(
    tentative: TentativeNode,
    atLevel: ClassAtLevel,
    pod: Pod,
    choice: PlacementChoice,
  ): Move | undefined {
    const { feasibility, ledger, compiled } = this.context;
    const { podClass, level, rules } = atLevel;
    this.work++;
    if (hostRoom(tentative, { podClass, rules, pod }, { ledger, volumes: compiled.volumes }, 1) === 0) return undefined;
    if (!meetsHostAffinity(ledger, rules, tentative.host)) return undefined;
    const profiles = this.lists.meet(tentative.profiles, feasibility.holding(podClass, level));
    if (profiles.length === 0) return undefined;
    const demand = feasibility.demand(podClass);
    const usage = tentative.usage.map((amount, d) => amount + demand[d]!);
    const move = this.best(atLevel, profiles, usage, choice, tentative);
    // Room to spare is for all, but nothing is bought in a lighter pool than need be (scheduling/heaviest-pool-first).
    const isHeavy = choice.anyWeight === true || tentative.profiles[0]!.pool.weight >= this.heaviest(atLevel);
    return isHeavy || move === undefined || move.row === tentative.row ? move : undefined;
  }

  /** The weight of the pools that nodes are launched in for such pods while limits allow. */
  private heaviest({ podClass, level }: ClassAtLevel): number {
    const { feasibility, exhausted } = this.context;
    const [profiles] = this.lists.byWeight(feasibility.holding(podClass, level, exhausted));
    return profiles?.[0]?.pool.weight ?? 0;
  }

  /** How a node can be launched for the pod, in the heaviest pools that have room for it (scheduling/heaviest-pool-first). */
  private opening(atLevel: ClassAtLevel, choice: PlacementChoice): Move | undefined {
    const { feasibility, ledger } = this.context;
    const { podClass, level, rules } = atLevel;
    if (!meetsHostAffinity(ledger, rules, undefined)) return undefined;
    const demand = feasibility.demand(podClass);
    for (const profiles of this.lists.byWeight(feasibility.holding(podClass, level))) {
      const move = this.best(atLevel, profiles, demand, choice, undefined);
      if (move !== undefined) return move;
    }
    return undefined;
  }

  private best(
    atLevel: ClassAtLevel,
    profiles: readonly Profile[],
    usage: Float64Array,
    choice: PlacementChoice,
    tentative: TentativeNode | undefined,
  ): Move | undefined {
    const { ledger } = this.context;
    let best: Move | undefined;
    const places = this.lists.placesOf(profiles, atLevel.rules.keys);
    this.work += Math.max(0, places.length - fewPlaces) * (1 + atLevel.rules.keys.length);
    for (const place of places) {
      const domainOf: DomainOf = (key) => this.valueAt(place.values, key);
      if (!allows(ledger, atLevel.rules, domainOf) || !this.staysOpen(atLevel, domainOf, choice)) continue;
      best = this.bestAt(place, atLevel, usage, { choice, tentative, best });
    }
    return best;
  }

  /** The better of the best so far and of the cheapest row there; of pools that cannot list enough types, none is taken. */
  private bestAt(
    place: Place,
    atLevel: ClassAtLevel,
    usage: Float64Array,
    {
      choice,
      tentative,
      best,
    }: { choice: PlacementChoice; tentative: TentativeNode | undefined; best: Move | undefined },
  ): Move | undefined {
    let { profiles } = place;
    while (profiles.length > 0) {
      const row = this.cheapest(profiles, usage, tentative);
      if (row < 0) return best;
      const cost = this.costOf(row, tentative, place, choice);
      const crowd = this.crowd(atLevel.rules, place.values);
      if (!isBetterPlace(cost, crowd, best)) return best;
      const reserve = this.reserveFor(tentative, row, atLevel);
      if (reserve !== undefined) return { tentative, profiles, row, reserve, cost, crowd };
      const { compiled, feasibility } = this.context;
      const { pool } = compiled.universe.rows[row]!.profile;
      profiles = feasibility.intern(profiles.filter((profile) => profile.pool !== pool));
    }
    return best;
  }

  private costOf(
    row: number,
    tentative: TentativeNode | undefined,
    { values }: Place,
    { favour }: PlacementChoice,
  ): number {
    const cost = this.priceOf(row) - (tentative === undefined ? 0 : this.priceOf(tentative.row));
    if (favour === undefined) return cost;
    const key = this.context.compiled.space.find(favour.key);
    return key !== undefined && values[key] === favour.domain ? cost * favour.factor : cost;
  }

  private domain(values: Profile['values'], { key }: Group): string | undefined {
    return this.valueAt(values, key);
  }

  private valueAt(values: Profile['values'], key: string): string | undefined {
    const index = this.context.compiled.space.find(key);
    return index === undefined ? undefined : values[index];
  }

  private crowd(rules: Rules, values: Profile['values']): number {
    const { ledger } = this.context;
    let crowd = 0;
    for (const group of rules.matched) {
      const domain = group.hostname ? undefined : this.domain(values, group);
      if (domain !== undefined) crowd += ledger.count(group, domain);
    }
    return crowd;
  }

  /** The cheapest row of the profiles that holds the usage within limits, given that the tentative node's own is no longer used; else -1. */
  private cheapest(profiles: readonly Profile[], usage: Float64Array, tentative: TentativeNode | undefined): number {
    const { offers, universe } = this.context.compiled;
    const dims = usage.length;
    let best = -1;
    for (const profile of profiles) {
      const { rows, capacity } = offers.of(profile);
      for (let i = 0; i < rows.length; i++) {
        const row = rows[i]!;
        if (best >= 0 && universe.rank[row]! >= universe.rank[best]!) break;
        this.work++;
        let d = 0;
        while (d < dims && usage[d]! <= capacity[i * dims + d]!) d++;
        if (d < dims || !this.withinLimits(row, tentative)) continue;
        best = row;
        break;
      }
    }
    return best;
  }

  private withinLimits(row: number, tentative: TentativeNode | undefined): boolean {
    const { limits, compiled } = this.context;
    for (let l = 0; l < limits.length; l++) {
      const use = limitUse(compiled, row, limits[l]!);
      if (use <= 0) continue;
      const own =
        tentative === undefined ? 0 : limitUse(compiled, tentative.row, limits[l]!) + (tentative.reserve[l] ?? 0);
      if (use - own > limits[l]!.remaining) return false;
    }
    return true;
  }

  /** What the node needs of limits for the variety that its pool asks for; undefined where that cannot be (min-values/counted). */
  private reserveFor(
    tentative: TentativeNode | undefined,
    row: number,
    atLevel: ClassAtLevel,
  ): readonly number[] | undefined {
    const { compiled, reserveOf } = this.context;
    if (!this.varied.has(compiled.universe.rows[row]!.profile.pool)) return none;
    const claim: OpenClaim = {
      row,
      members: [...(tentative?.members ?? []), { ...atLevel, pods: [atLevel.podClass.pods[0]!] }],
      pinnedKeys: new Set([...(tentative?.pins ?? []), ...atLevel.rules.keys]),
    };
    if (tentative !== undefined) this.charge(tentative.row, tentative.reserve, -1);
    this.charge(row, none, 1);
    const reserve = reserveOf(claim);
    this.work += listingWork;
    this.charge(row, none, -1);
    if (tentative !== undefined) this.charge(tentative.row, tentative.reserve, 1);
    return reserve;
  }

  private charge(row: number, reserve: readonly number[], times: number): void {
    const { limits, compiled } = this.context;
    for (const limit of limits) limit.remaining -= times * limitUse(compiled, row, limit);
    this.reserve(reserve, times);
  }

  private reserve(reserve: readonly number[], times: number): void {
    reserve.forEach((amount, l) => (this.context.limits[l]!.remaining -= times * amount));
  }

  private put(move: Move, atLevel: ClassAtLevel, pod: Pod): void {
    const { podClass, level, rules } = atLevel;
    const tentative = move.tentative ?? this.newTentativeNode(move.row, move.profiles, new Set());
    const { profiles, pins, row, reserve } = tentative;
    const ports = tentative.ports.length;
    if (move.tentative === undefined) this.tentativeNodes.push(tentative);
    else this.charge(row, reserve, -1);
    this.charge(move.row, move.reserve, 1);
    tentative.row = move.row;
    tentative.reserve = move.reserve;
    tentative.profiles = move.profiles;
    if (rules.keys.some((key) => !tentative.pins.has(key)))
      tentative.pins = new Set([...tentative.pins, ...rules.keys]);
    let member = tentative.members.find((one) => one.podClass === podClass && one.level === level);
    if (member === undefined) tentative.members.push((member = { ...atLevel, pods: [] }));
    member.pods.push(pod);
    this.count(tentative, atLevel, 1);
    this.record(tentative, atLevel, 1);
    this.undoing.push(() => {
      this.record(tentative, atLevel, -1);
      this.count(tentative, atLevel, -1);
      tentative.ports.length = ports;
      member.pods.pop();
      if (member.pods.length === 0) tentative.members.pop();
      this.charge(tentative.row, tentative.reserve, -1);
      if (move.tentative === undefined) this.tentativeNodes.pop();
      else this.charge(row, reserve, 1);
      Object.assign(tentative, { profiles, pins, row, reserve });
    });
  }

  /** Takes a tentative node away with all its pods. */
  remove(tentative: TentativeNode): void {
    const at = this.tentativeNodes.indexOf(tentative);
    this.tentativeNodes.splice(at, 1);
    for (const member of tentative.members) this.record(tentative, member, -member.pods.length);
    this.charge(tentative.row, tentative.reserve, -1);
    this.undoing.push(() => {
      this.charge(tentative.row, tentative.reserve, 1);
      for (const member of tentative.members) this.record(tentative, member, member.pods.length);
      this.tentativeNodes.splice(at, 0, tentative);
    });
  }

  /** Takes back every change since `commit`. */
  undo(): void {
    while (this.undoing.length > 0) this.undoing.pop()!();
  }

  commit(): void {
    this.undoing.length = 0;
  }

  private record(tentative: TentativeNode, { rules }: ClassAtLevel, pods: number): void {
    this.context.ledger.recordLaunch(rules, pods, tentative.profiles[0]!, tentative.host);
  }
}

function claimOf({ row, members, pins }: TentativeNode): OpenClaim {
  return { row, members: members.map(({ podClass, level, pods }) => ({ podClass, level, pods })), pinnedKeys: pins };
}

function isBetterPlace(cost: number, crowd: number, best: Move | undefined): boolean {
  return best === undefined || cost < best.cost - 1e-12 || (cost < best.cost + 1e-12 && crowd < best.crowd);
}

function better(a: Move | undefined, b: Move | undefined): Move | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.cost !== b.cost) return a.cost < b.cost ? a : b;
  return b.crowd < a.crowd ? b : a;
}
