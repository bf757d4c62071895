import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/ladder.js';
import { varietiesOf } from '../compile/min-values.js';
import type { HostPort } from '../compile/pod-key.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import type { OpenClaim } from '../output/claims.js';
import { limitUse, type PoolLimit } from '../place/bin-problem.js';
import type { Feasibility } from '../place/feasibility.js';
import { allows, hasCompany, isFree } from '../place/admission.js';
import { hostRoom } from '../place/host-rules.js';
import { removePorts, type Landed, type NodeState } from '../place/node-states.js';
import type { Outlook } from '../place/outlook.js';
import type { Group } from '../topology/groups.js';
import { siteOf, type Ledger } from '../topology/ledger.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import { Berths } from './berths.js';
import { ProfileLists, type Place } from './profile-lists.js';

/** A node to launch while pods come and go: everything that a further pod has to fit in with. */
export interface Draft {
  /** Stands for the name of the node to come in counts of the host name. */
  readonly host: string;
  readonly ports: HostPort[];
  readonly attach: undefined;
  readonly members: DraftMember[];
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

export interface DraftMember {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly rung: number;
  readonly rules: Rules;
  readonly pods: Pod[];
}

/** Pods of a class as they stand on one rung. */
export interface Standing {
  readonly podClass: PodClass;
  readonly level: Level;
  readonly rung: number;
  readonly rules: Rules;
}

/** A way to place one pod. */
interface Move {
  /** Undefined where a node is to be launched for it. */
  readonly draft: Draft | undefined;
  readonly profiles: readonly Profile[];
  readonly row: number;
  readonly reserve: readonly number[];
  /** What it adds to the price, dollars per hour. */
  readonly cost: number;
  /** How many pods of its own rules are in its domains. */
  readonly crowd: number;
}

/** How moves are chosen. */
export interface Taste {
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
  readonly outlook: Outlook;
  /** What limits leave; kept up to date. */
  readonly limits: readonly PoolLimit[];
  /** By limit, what the claim needs beyond its row so that its pool's minValues are met; undefined where they cannot be. */
  readonly reserveOf: (claim: OpenClaim) => readonly number[] | undefined;
}

const none: readonly number[] = [];
const noKey = (): boolean => false;
/** What it costs, in rows looked at, to work out which types a claim may list. */
const listingWork = 100;

/**
 * The nodes to launch, pod by pod, with every rule in force: a pod is put where it may be, and taken away again with all that
 * hangs on it. Slower than bins and exact: for what they left over, and to improve small plans.
 */
export class Board {
  readonly drafts: Draft[] = [];
  /** Nodes that exist. */
  readonly berths: Berths;
  /** Rows and nodes to launch looked at so far. */
  work = 0;
  private readonly undoing: (() => void)[] = [];
  private readonly lists: ProfileLists;
  private readonly varied: ReadonlySet<Pool>;
  private hosts = 0;

  constructor(readonly context: BoardContext) {
    const { pools } = context.compiled;
    this.berths = new Berths(context, this.undoing);
    this.lists = new ProfileLists(context.compiled.space, context.feasibility);
    this.varied = new Set(pools.filter(({ requirements }) => varietiesOf(requirements).length > 0));
  }

  /** Dollars per hour. */
  price(): number {
    let price = 0;
    for (const { row } of this.drafts) price += this.priceOf(row);
    return price;
  }

  private priceOf(row: number): number {
    return this.context.compiled.universe.rows[row]!.offering.price;
  }

  standing(podClass: PodClass, rung: number): Standing {
    const level = this.context.compiled.ladders[podClass.shape.index]![rung]!;
    return { podClass, level, rung, rules: this.context.book.of(podClass.shape, level) };
  }

  /** Every class with nothing preferred any more. */
  required(): Standing[] {
    const { queue, ladders } = this.context.compiled;
    return queue.map((podClass) => this.standing(podClass, ladders[podClass.shape.index]!.length - 1));
  }

  /** Takes over a claim that bins made; its limits are accounted for already, and its counts but for the host name. */
  adopt({ row, members, pinnedKeys }: OpenClaim): void {
    const { feasibility, compiled, ledger } = this.context;
    const own = compiled.universe.rows[row]!.profile;
    const draft = this.newDraft(row, feasibility.intern([own]), pinnedKeys);
    let profiles: readonly Profile[] | undefined;
    for (const { podClass, level, pods } of members) {
      const rung = compiled.ladders[podClass.shape.index]!.indexOf(level);
      const standing = this.standing(podClass, rung);
      const holding = feasibility.holding(podClass, level);
      profiles = profiles === undefined ? holding : this.lists.meet(profiles, holding);
      draft.members.push({ ...standing, pods: [...pods] });
      this.count(draft, standing, pods.length);
      ledger.record(standing.rules, pods.length, siteOf(own, draft.host), noKey);
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
    if (alike.includes(own)) draft.profiles = feasibility.intern(alike);
    if (this.varied.has(own.pool)) this.reserve((draft.reserve = this.context.reserveOf(claimOf(draft)) ?? none), 1);
    this.drafts.push(draft);
  }

  /** Gives back what the drafts hold of limits beyond their rows. */
  release(): void {
    for (const { reserve } of this.drafts) this.reserve(reserve, -1);
  }

  /** The drafts as claims. */
  claims(): OpenClaim[] {
    return this.drafts.map((draft) => claimOf(draft));
  }

  private newDraft(row: number, profiles: readonly Profile[], pins: ReadonlySet<string>): Draft {
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

  private count(draft: Draft, { podClass }: Standing, pods: number): void {
    const demand = this.context.feasibility.demand(podClass);
    for (let d = 0; d < demand.length; d++) draft.usage[d] = draft.usage[d]! + pods * demand[d]!;
    draft.count += pods;
    if (pods > 0) draft.ports.push(...podClass.shape.hostPorts);
  }

  /** Puts the pod where the taste would have it, on the first of the rungs up to `mostRung` that has a place. */
  insert(podClass: PodClass, pod: Pod, mostRung: number, taste: Taste): boolean {
    for (let rung = 0; rung <= mostRung; rung++) {
      const standing = this.standing(podClass, rung);
      if (this.context.outlook.concerns(standing.rules)) {
        const isIn = this.insertOn(standing, pod, { ...taste, places: this.allPlaces(standing) });
        if (isIn) return true;
      }
      if (this.insertOn(standing, pod, taste)) return true;
    }
    return false;
  }

  private insertOn(standing: Standing, pod: Pod, taste: Taste): boolean {
    const node = this.berths.find({ ...standing, pod }, (domainOf) => this.staysOpen(standing, domainOf, taste));
    this.work += this.berths.lookedAt();
    if (node !== undefined) {
      this.berths.put(node, { ...standing, pod });
      return true;
    }
    const move = this.choose(standing, pod, taste);
    if (move === undefined) return false;
    this.put(move, standing, pod);
    return true;
  }

  /** Wherever a pod like this could be if it were alone. */
  private allPlaces({ podClass, level, rules }: Standing): DomainOf[] {
    const launched = this.lists.placesOf(this.context.feasibility.holding(podClass, level), rules.keys).map(
      ({ values }): DomainOf =>
        (key) =>
          this.valueAt(values, key),
    );
    return [...launched, ...this.berths.places({ podClass, rules })];
  }

  private staysOpen({ rules }: Standing, domainOf: DomainOf, { places }: Taste): boolean {
    return places === undefined || this.context.outlook.staysOpen(rules, domainOf, places);
  }

  /** Puts the pod on this node, which exists or is to be launched, on the first of the rungs where it may be. */
  insertInto(host: Draft | NodeState, podClass: PodClass, pod: Pod, mostRung: number): boolean {
    for (let rung = 0; rung <= mostRung; rung++) {
      const standing = this.standing(podClass, rung);
      if (!('members' in host)) {
        if (!this.berths.admits(host, { ...standing, pod })) continue;
        this.berths.put(host, { ...standing, pod });
        return true;
      }
      const move = this.joining(host, standing, pod, { mode: 'cheap' });
      if (move === undefined) continue;
      this.put(move, standing, pod);
      return true;
    }
    return false;
  }

  /** Takes one pod of the member away from the node that is to be launched. */
  take(draft: Draft, member: DraftMember): void {
    const { members, ports } = draft;
    const at = members.indexOf(member);
    const pod = member.pods.pop()!;
    const portsBefore = [...ports];
    if (member.pods.length === 0) members.splice(at, 1);
    this.count(draft, member, -1);
    removePorts(ports, member.podClass.shape.hostPorts);
    this.record(draft, member, -1);
    this.undoing.push(() => {
      this.record(draft, member, 1);
      this.count(draft, member, 1);
      ports.splice(0, Infinity, ...portsBefore);
      if (member.pods.length === 0) members.splice(at, 0, member);
      member.pods.push(pod);
    });
  }

  /** The pod on an existing node as one to be placed, on no lower a rung than now. */
  looseOf({ podClass, rules, pod }: Landed): { podClass: PodClass; pod: Pod; mostRung: number } {
    const mostRung = this.context.compiled.ladders[podClass.shape.index]!.indexOf(rules.level);
    return { podClass, pod, mostRung };
  }

  /** Whether a pod of the member can be taken away alone: nobody there is there for it. */
  isFree({ members, host }: Draft, { rules }: DraftMember): boolean {
    return isFree(this.context.ledger, rules, host, members);
  }

  private choose(standing: Standing, pod: Pod, taste: Taste): Move | undefined {
    let best: Move | undefined;
    if (taste.mode === 'fill') {
      for (const draft of this.drafts) {
        if (best?.draft !== undefined && draft.count >= best.draft.count) continue;
        best = this.joining(draft, standing, pod, taste) ?? best;
      }
      return best ?? this.opening(standing, taste);
    }
    for (const draft of this.drafts) best = better(best, this.joining(draft, standing, pod, taste));
    return best !== undefined && best.cost <= 0 ? best : better(best, this.opening(standing, taste));
  }

  /** How the pod can join the draft, if it can. */
  private joining(draft: Draft, standing: Standing, pod: Pod, taste: Taste): Move | undefined {
    const { feasibility, ledger, compiled } = this.context;
    const { podClass, level, rules } = standing;
    this.work++;
    if (hostRoom(draft, { podClass, rules, pod }, { ledger, volumes: compiled.volumes }, 1) === 0) return undefined;
    if (!hasCompany(ledger, rules, draft.host)) return undefined;
    const profiles = this.lists.meet(draft.profiles, feasibility.holding(podClass, level));
    if (profiles.length === 0) return undefined;
    const demand = feasibility.demand(podClass);
    const usage = draft.usage.map((amount, d) => amount + demand[d]!);
    const move = this.best(standing, profiles, usage, taste, draft);
    // Room to spare is for all, but nothing is bought in a lighter pool than need be (section 2.3).
    const isHeavy = taste.anyWeight === true || draft.profiles[0]!.pool.weight >= this.heaviest(standing);
    return isHeavy || move === undefined || move.row === draft.row ? move : undefined;
  }

  /** The weight of the pools that nodes are launched in for such pods while limits allow. */
  private heaviest({ podClass, level }: Standing): number {
    const { feasibility, exhausted } = this.context;
    const [profiles] = this.lists.byWeight(feasibility.holding(podClass, level, exhausted));
    return profiles?.[0]?.pool.weight ?? 0;
  }

  /** How a node can be launched for the pod, in the heaviest pools that have room for it (section 2.3). */
  private opening(standing: Standing, taste: Taste): Move | undefined {
    const { feasibility, ledger } = this.context;
    const { podClass, level, rules } = standing;
    if (!hasCompany(ledger, rules, undefined)) return undefined;
    const demand = feasibility.demand(podClass);
    for (const profiles of this.lists.byWeight(feasibility.holding(podClass, level))) {
      const move = this.best(standing, profiles, demand, taste, undefined);
      if (move !== undefined) return move;
    }
    return undefined;
  }

  private best(
    standing: Standing,
    profiles: readonly Profile[],
    usage: Float64Array,
    taste: Taste,
    draft: Draft | undefined,
  ): Move | undefined {
    const { ledger } = this.context;
    let best: Move | undefined;
    for (const place of this.lists.placesOf(profiles, standing.rules.keys)) {
      const domainOf: DomainOf = (key) => this.valueAt(place.values, key);
      if (!allows(ledger, standing.rules, domainOf) || !this.staysOpen(standing, domainOf, taste)) continue;
      best = this.bestAt(place, standing, usage, { taste, draft, best });
    }
    return best;
  }

  /** The better of the best so far and of the cheapest row there; of pools that cannot list enough types, none is taken. */
  private bestAt(
    place: Place,
    standing: Standing,
    usage: Float64Array,
    { taste, draft, best }: { taste: Taste; draft: Draft | undefined; best: Move | undefined },
  ): Move | undefined {
    let { profiles } = place;
    while (profiles.length > 0) {
      const row = this.cheapest(profiles, usage, draft);
      if (row < 0) return best;
      const cost = this.costOf(row, draft, place, taste);
      const crowd = this.crowd(standing.rules, place.values);
      if (!isBetterPlace(cost, crowd, best)) return best;
      const reserve = this.reserveFor(draft, row, standing);
      if (reserve !== undefined) return { draft, profiles, row, reserve, cost, crowd };
      const { compiled, feasibility } = this.context;
      const { pool } = compiled.universe.rows[row]!.profile;
      profiles = feasibility.intern(profiles.filter((profile) => profile.pool !== pool));
    }
    return best;
  }

  private costOf(row: number, draft: Draft | undefined, { values }: Place, { favour }: Taste): number {
    const cost = this.priceOf(row) - (draft === undefined ? 0 : this.priceOf(draft.row));
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

  /** The cheapest row of the profiles that holds the usage within limits, given that the draft's own is no longer used; else -1. */
  private cheapest(profiles: readonly Profile[], usage: Float64Array, draft: Draft | undefined): number {
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
        if (d < dims || !this.withinLimits(row, draft)) continue;
        best = row;
        break;
      }
    }
    return best;
  }

  private withinLimits(row: number, draft: Draft | undefined): boolean {
    const { limits, compiled } = this.context;
    for (let l = 0; l < limits.length; l++) {
      const use = limitUse(compiled, row, limits[l]!);
      if (use <= 0) continue;
      const own = draft === undefined ? 0 : limitUse(compiled, draft.row, limits[l]!) + (draft.reserve[l] ?? 0);
      if (use - own > limits[l]!.remaining) return false;
    }
    return true;
  }

  /** What the node needs of limits for the variety that its pool asks for; undefined where that cannot be (section 2.5). */
  private reserveFor(draft: Draft | undefined, row: number, standing: Standing): readonly number[] | undefined {
    const { compiled, reserveOf } = this.context;
    if (!this.varied.has(compiled.universe.rows[row]!.profile.pool)) return none;
    const claim: OpenClaim = {
      row,
      members: [...(draft?.members ?? []), { ...standing, pods: [standing.podClass.pods[0]!] }],
      pinnedKeys: new Set([...(draft?.pins ?? []), ...standing.rules.keys]),
    };
    if (draft !== undefined) this.charge(draft.row, draft.reserve, -1);
    this.charge(row, none, 1);
    const reserve = reserveOf(claim);
    this.work += listingWork;
    this.charge(row, none, -1);
    if (draft !== undefined) this.charge(draft.row, draft.reserve, 1);
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

  private put(move: Move, standing: Standing, pod: Pod): void {
    const { podClass, level, rules } = standing;
    const draft = move.draft ?? this.newDraft(move.row, move.profiles, new Set());
    const { profiles, pins, row, reserve } = draft;
    const ports = draft.ports.length;
    if (move.draft === undefined) this.drafts.push(draft);
    else this.charge(row, reserve, -1);
    this.charge(move.row, move.reserve, 1);
    draft.row = move.row;
    draft.reserve = move.reserve;
    draft.profiles = move.profiles;
    if (rules.keys.some((key) => !draft.pins.has(key))) draft.pins = new Set([...draft.pins, ...rules.keys]);
    let member = draft.members.find((one) => one.podClass === podClass && one.level === level);
    if (member === undefined) draft.members.push((member = { ...standing, pods: [] }));
    member.pods.push(pod);
    this.count(draft, standing, 1);
    this.record(draft, standing, 1);
    this.undoing.push(() => {
      this.record(draft, standing, -1);
      this.count(draft, standing, -1);
      draft.ports.length = ports;
      member.pods.pop();
      if (member.pods.length === 0) draft.members.pop();
      this.charge(draft.row, draft.reserve, -1);
      if (move.draft === undefined) this.drafts.pop();
      else this.charge(row, reserve, 1);
      Object.assign(draft, { profiles, pins, row, reserve });
    });
  }

  /** Takes a draft away with all its pods. */
  remove(draft: Draft): void {
    const at = this.drafts.indexOf(draft);
    this.drafts.splice(at, 1);
    for (const member of draft.members) this.record(draft, member, -member.pods.length);
    this.charge(draft.row, draft.reserve, -1);
    this.undoing.push(() => {
      this.charge(draft.row, draft.reserve, 1);
      for (const member of draft.members) this.record(draft, member, member.pods.length);
      this.drafts.splice(at, 0, draft);
    });
  }

  /** Takes back every change since `commit`. */
  undo(): void {
    while (this.undoing.length > 0) this.undoing.pop()!();
  }

  commit(): void {
    this.undoing.length = 0;
  }

  private record(draft: Draft, { rules }: Standing, pods: number): void {
    this.context.ledger.recordLaunch(rules, pods, draft.profiles[0]!, draft.host);
  }
}

function claimOf({ row, members, pins }: Draft): OpenClaim {
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
