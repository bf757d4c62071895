import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import { varietiesOf } from '../compile/min-values.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import { allows, meetsHostAffinity } from '../place/admission.js';
import type { Feasibility } from '../place/feasibility.js';
import { hostRoom } from '../place/host-rules.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { SpreadLookahead } from '../place/spread-lookahead.js';
import type { Group } from '../topology/groups.js';
import type { Ledger } from '../topology/ledger.js';
import type { Rules } from '../topology/rules.js';
import type { LimitUse } from './limit-use.js';
import type { ProfilePlace, ProfileLists } from './profile-lists.js';
import type { ClassAtLevel, TentativeNode } from './tentative-node.js';

/** A way to place one pod. */
export interface Move {
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

export type DomainOf = (key: string) => string | undefined;

/** What a search has cost so far: rows, nodes to launch and domains looked at. */
export interface SpentEffort {
  spent: number;
}

interface MovesContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly ledger: Ledger;
  /** Profiles that limits have left no room in. */
  readonly exhausted: ReadonlySet<Profile>;
  readonly lookahead: SpreadLookahead;
  /** By limit, what the claim needs beyond its row so that its pool's minValues are met; undefined where they cannot be. */
  readonly reserveOf: (claim: OpenClaim) => readonly number[] | undefined;
}

const none: readonly number[] = [];
/** What it costs, in rows looked at, to work out which types a claim may list. */
const listingWork = 100;
/** So many domains are looked at with the rows in them; where rules tell more apart, each further one is work. */
const fewPlaces = 32;

/** Finds where one pod may be put, and what that adds to the price. It changes nothing. */
export class Moves {
  private readonly varied: ReadonlySet<Pool>;

  constructor(
    private readonly context: MovesContext,
    private readonly lists: ProfileLists,
    private readonly limitUse: LimitUse,
    private readonly tentativeNodes: readonly TentativeNode[],
    private readonly effort: SpentEffort,
  ) {
    const { pools } = context.compiled;
    this.varied = new Set(pools.filter(({ requirements }) => varietiesOf(requirements).length > 0));
  }

  /** Whether nodes of the pool have to list different types. */
  isVaried(pool: Pool): boolean {
    return this.varied.has(pool);
  }

  choose(atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): Move | undefined {
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
  joining(tentative: TentativeNode, atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): Move | undefined {
    const { feasibility, ledger, compiled } = this.context;
    const { podClass, level, rules } = atLevel;
    this.effort.spent++;
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
    this.effort.spent += Math.max(0, places.length - fewPlaces) * (1 + atLevel.rules.keys.length);
    for (const place of places) {
      const domainOf: DomainOf = (key) => this.valueAt(place.values, key);
      if (!allows(ledger, atLevel.rules, domainOf) || !this.staysOpen(atLevel, domainOf, choice)) continue;
      best = this.bestAt(place, atLevel, usage, { choice, tentative, best });
    }
    return best;
  }

  /** The better of the best so far and of the cheapest row there; of pools that cannot list enough types, none is taken. */
  private bestAt(
    place: ProfilePlace,
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
    { values }: ProfilePlace,
    { favour }: PlacementChoice,
  ): number {
    const cost = this.priceOf(row) - (tentative === undefined ? 0 : this.priceOf(tentative.row));
    if (favour === undefined) return cost;
    const key = this.context.compiled.space.find(favour.key);
    return key !== undefined && values[key] === favour.domain ? cost * favour.factor : cost;
  }

  priceOf(row: number): number {
    return this.context.compiled.universe.rows[row]!.offering.price;
  }

  staysOpen({ rules }: ClassAtLevel, domainOf: DomainOf, { places }: PlacementChoice): boolean {
    return places === undefined || this.context.lookahead.staysOpen(rules, domainOf, places);
  }

  private domain(values: Profile['values'], { key }: Group): string | undefined {
    return this.valueAt(values, key);
  }

  valueAt(values: Profile['values'], key: string): string | undefined {
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
        this.effort.spent++;
        let d = 0;
        while (d < dims && usage[d]! <= capacity[i * dims + d]!) d++;
        if (d < dims || !this.limitUse.allows(row, tentative)) continue;
        best = row;
        break;
      }
    }
    return best;
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
    if (tentative !== undefined) this.limitUse.charge(tentative.row, tentative.reserve, -1);
    this.limitUse.charge(row, none, 1);
    const reserve = reserveOf(claim);
    this.effort.spent += listingWork;
    this.limitUse.charge(row, none, -1);
    if (tentative !== undefined) this.limitUse.charge(tentative.row, tentative.reserve, 1);
    return reserve;
  }
}

function isBetterPlace(cost: number, crowd: number, best: Move | undefined): boolean {
  return best === undefined || cost < best.cost - 1e-12 || (cost < best.cost + 1e-12 && crowd < best.crowd);
}

function better(a: Move | undefined, b: Move | undefined): Move | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.cost !== b.cost) return a.cost < b.cost ? a : b;
  return b.crowd < a.crowd ? b : a;
}
