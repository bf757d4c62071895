import type { Pod } from '../../api/kubernetes.js';
import type { Compiled } from '../compile/compiled.js';
import { minValuesRulesOf } from '../compile/min-values.js';
import { firstInReach } from '../compile/offers.js';
import type { Pool } from '../compile/pools.js';
import type { Profile } from '../compile/universe.js';
import { allows, meetsHostAffinity } from '../place/admission.js';
import type { Feasibility } from '../place/feasibility.js';
import { hostRoom } from '../place/host-rules.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { SpreadLookahead } from '../place/spread-lookahead.js';
import type { Group } from '../topology/groups.js';
import type { TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook, Rules } from '../topology/rules.js';
import type { LimitUse } from './limit-use.js';
import type { ProfilePlace, ProfileLists } from './profile-lists.js';
import { contentOf, type ClassAtLevel, type TentativeNode } from './tentative-node.js';

/** A way to place one pod. */
export interface Move {
  /** Undefined if a node has to be launched for the pod. */
  readonly tentative: TentativeNode | undefined;
  readonly profiles: readonly Profile[];
  readonly row: number;
  readonly reserve: readonly number[];
  /** Increase of the price, dollars per hour. */
  readonly cost: number;
  /**
   * Number of pods in its domains that the pod's topology rules select: at equal cost the least crowded place is taken.
   */
  readonly podsInDomains: number;
}

/** How moves are chosen. */
export interface PlacementChoice {
  /**
   * `fill` takes any node that holds the pod, the one with fewest pods first, as Karpenter does; `cheap` takes the
   * cheapest.
   */
  readonly mode: 'fill' | 'cheap';
  /**
   * Multiplies the price of nodes in this domain by `factor`, so that another part of the solution space is searched.
   */
  readonly domainFactor?: { readonly key: string; readonly domain: string; readonly factor: number };
  /**
   * Whether tentative nodes of pools with a lower weight may be enlarged too: Karpenter fills nodes whatever their
   * weight.
   */
  readonly anyWeight?: boolean;
  /**
   * When to place pods whose spread also selects pods without that spread: before these, which may then go anywhere, or
   * after these, which are then placed regardless of the spread. Absent: in the usual order.
   */
  readonly counting?: 'first' | 'last';
  /** Domains available to the next pod of the class: a place that leaves none of them is not taken. */
  readonly places?: readonly DomainOf[];
}

export type DomainOf = (key: string) => string | undefined;

/** Work of a search so far: rows, tentative nodes and domains checked. */
export interface SpentEffort {
  spent: number;
}

interface MovesContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly topologyCounts: TopologyCounts;
  /** Profiles of pools with an exhausted limit. */
  readonly exhausted: ReadonlySet<Profile>;
  readonly lookahead: SpreadLookahead;
  /** By limit: what a claim needs beyond its row to meet the minValues of its pool; undefined if they cannot be met. */
  readonly reserveOf: (claim: OpenClaim) => readonly number[] | undefined;
  /** Surcharge of each tentative node, dollars per hour. */
  readonly surcharge: number;
}

interface MoveSearch {
  readonly choice: PlacementChoice;
  /** The node that the pod joins; undefined if one is launched. */
  readonly tentative: TentativeNode | undefined;
  /** Receives the best move of each combination of domains. */
  readonly all?: Move[] | undefined;
}

const none: readonly number[] = [];
/** Work of computing the types that a claim lists, in rows. */
const listingWork = 100;
/** Up to this many domains, only their rows count as work. */
const fewPlaces = 32;

/** Finds possible places for one pod and their cost. Changes nothing. */
export class Moves {
  private readonly withMinValues: ReadonlySet<Pool>;
  /** Results of `reserveFor` by content, row and remaining limits. */
  private readonly reserves = new Map<string, readonly number[] | undefined>();

  constructor(
    private readonly context: MovesContext,
    private readonly lists: ProfileLists,
    private readonly limitUse: LimitUse,
    private readonly tentativeNodes: readonly TentativeNode[],
    private readonly effort: SpentEffort,
  ) {
    const { pools } = context.compiled;
    this.withMinValues = new Set(pools.filter(({ requirements }) => minValuesRulesOf(requirements).length > 0));
  }

  /** Whether the pool has minValues, so that its claims must list different types. */
  hasMinValues(pool: Pool): boolean {
    return this.withMinValues.has(pool);
  }

  choose(atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): Move | undefined {
    let best: Move | undefined;
    if (choice.mode === 'fill') {
      for (const tentative of this.tentativeNodes) {
        if (best?.tentative !== undefined && tentative.count >= best.tentative.count) continue;
        best = this.joinMove(tentative, atLevel, pod, choice) ?? best;
      }
      return best ?? this.launchMove(atLevel, choice);
    }
    for (const tentative of this.tentativeNodes) best = better(best, this.joinMove(tentative, atLevel, pod, choice));
    return best !== undefined && best.cost <= 0 ? best : better(best, this.launchMove(atLevel, choice));
  }

  /**
   * Every way to place the pod: at the lowest price in each combination of domains, on a new node and on each tentative
   * one, of equal ones on the first.
   */
  all(atLevel: ClassAtLevel, pod: Pod): Move[] {
    const found: Move[] = [];
    const choice: PlacementChoice = { mode: 'cheap', anyWeight: true };
    const alike = new Set<string>();
    for (const tentative of this.tentativeNodes) {
      const content = contentOf(tentative);
      if (!alike.has(content)) this.joinMove(tentative, atLevel, pod, choice, found);
      alike.add(content);
    }
    this.launchMove(atLevel, choice, found);
    return found;
  }

  /** How the pod can join the tentative node, if possible. Adds every such move to `all`. */
  joinMove(
    tentative: TentativeNode,
    atLevel: ClassAtLevel,
    pod: Pod,
    choice: PlacementChoice,
    all?: Move[],
  ): Move | undefined {
    const { feasibility, topologyCounts, compiled } = this.context;
    const { podClass, level, rules } = atLevel;
    this.effort.spent++;
    if (hostRoom(tentative, { podClass, rules, pod }, { topologyCounts, volumes: compiled.volumes }, 1) === 0)
      return undefined;
    if (!meetsHostAffinity(topologyCounts, rules, tentative.host)) return undefined;
    const profiles = this.lists.intersection(tentative.profiles, feasibility.holding(podClass, level));
    if (profiles.length === 0) return undefined;
    const demand = feasibility.demand(podClass);
    const usage = tentative.usage.slice();
    for (let d = 0; d < usage.length; d++) usage[d] = usage[d]! + demand[d]!;
    // Any pod may use the free room of a node, but a node is enlarged only in the heaviest pool with room
    // (scheduling/heaviest-pool-first).
    const isAllowed = (move: Move | undefined): boolean =>
      move?.row === tentative.row ||
      choice.anyWeight === true ||
      tentative.profiles[0]!.pool.weight >= this.heaviest(atLevel);
    const found: Move[] | undefined = all && [];
    const move = this.best(atLevel, profiles, usage, { choice, tentative, all: found });
    if (found !== undefined) all!.push(...found.filter(isAllowed));
    return move !== undefined && isAllowed(move) ? move : undefined;
  }

  /** The weight of the pools in which nodes are launched for such pods while limits allow. */
  heaviest({ podClass, level }: ClassAtLevel): number {
    const { feasibility, exhausted } = this.context;
    const [profiles] = this.lists.byWeight(feasibility.holding(podClass, level, exhausted));
    return profiles?.[0]?.pool.weight ?? 0;
  }

  /**
   * How a node can be launched for the pod, in the heaviest pools with room for it (scheduling/heaviest-pool-first).
   */
  private launchMove(atLevel: ClassAtLevel, choice: PlacementChoice, all?: Move[]): Move | undefined {
    const { feasibility, topologyCounts } = this.context;
    const { podClass, level, rules } = atLevel;
    if (!meetsHostAffinity(topologyCounts, rules, undefined)) return undefined;
    const demand = feasibility.demand(podClass);
    for (const profiles of this.lists.byWeight(feasibility.holding(podClass, level))) {
      const move = this.best(atLevel, profiles, demand, { choice, tentative: undefined, all });
      if (move !== undefined) return move;
    }
    return undefined;
  }

  private best(
    atLevel: ClassAtLevel,
    profiles: readonly Profile[],
    usage: Float64Array,
    { choice, tentative, all }: MoveSearch,
  ): Move | undefined {
    let best: Move | undefined;
    const places = this.lists.placesOf(profiles, atLevel.rules.keys);
    this.effort.spent += Math.max(0, places.length - fewPlaces) * (1 + atLevel.rules.keys.length);
    for (const place of places) {
      const domainOf: DomainOf = (key) => this.valueAt(place.values, key);
      if (!this.admits(place, atLevel, tentative) || !this.leavesPlaceForNext(atLevel, domainOf, choice)) continue;
      const found = this.bestAt(place, atLevel, usage, {
        choice,
        tentative,
        best: all === undefined ? best : undefined,
      });
      if (found !== undefined) all?.push(found);
      best = found ?? best;
    }
    return best;
  }

  /** Whether the rules allow the pod there, with the DaemonSet pods of its node, and these beside other pods. */
  private admits(
    { profiles, values }: ProfilePlace,
    { rules }: ClassAtLevel,
    node: TentativeNode | undefined,
  ): boolean {
    const { topologyCounts, book, compiled } = this.context;
    const isAllowed = (): boolean => allows(topologyCounts, rules, (key) => this.valueAt(values, key));
    if (!book.daemonPods.arePartners) return isAllowed();
    const before = node && compiled.universe.rows[node.row]!.profile;
    const [after] = profiles as [Profile];
    const partnersOf = (profile: Profile | undefined): string =>
      profile ? book.daemonPods.partnersOn(profile).join() : '';
    if (partnersOf(before) === partnersOf(after)) return isAllowed();
    const rulesThere = [rules, ...(node?.members ?? []).map((member) => member.rules)];
    if (this.crowds(after, node?.host ?? '', rulesThere)) return false;
    if (before !== undefined) topologyCounts.recordDaemons(before, -1);
    const isKept = topologyCounts.admitsDaemons(after);
    topologyCounts.recordDaemons(after, 1);
    const admitted = isKept && isAllowed();
    topologyCounts.recordDaemons(after, -1);
    if (before !== undefined) topologyCounts.recordDaemons(before, 1);
    return admitted;
  }

  /** Whether DaemonSet pods of the profile would leave no room under the spreads over hosts; the first rules are those of one more pod. */
  private crowds(profile: Profile, host: string, rulesThere: readonly Rules[]): boolean {
    const { topologyCounts, book, compiled } = this.context;
    const { daemons } = compiled.offers.of(profile);
    const [added] = rulesThere as [Rules];
    return rulesThere.some(({ hostSpread, matched }) =>
      hostSpread.some((group) => {
        if (!matched.includes(group)) return false;
        const pods = topologyCounts.count(group, host) + (added.matched.includes(group) ? 1 : 0);
        return pods + book.daemonPods.count(group, daemons) > group.maxSkew + topologyCounts.least(group);
      }),
    );
  }

  /** The better of `best` and the cheapest row in these domains, of pools whose minValues can be met. */
  private bestAt(
    place: ProfilePlace,
    atLevel: ClassAtLevel,
    usage: Float64Array,
    { choice, tentative, best }: MoveSearch & { readonly best: Move | undefined },
  ): Move | undefined {
    let { profiles } = place;
    while (profiles.length > 0) {
      const row = this.cheapest(profiles, usage, tentative);
      if (row < 0) return best;
      const cost = this.costOf(row, tentative, place, choice);
      const podsInDomains = this.countInDomains(atLevel.rules, place.values);
      if (!isBetterPlace(cost, podsInDomains, best)) return best;
      const reserve = this.reserveFor(tentative, row, atLevel);
      if (reserve !== undefined) return { tentative, profiles, row, reserve, cost, podsInDomains };
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
    { domainFactor }: PlacementChoice,
  ): number {
    const cost = this.priceOf(row) - (tentative === undefined ? 0 : this.priceOf(tentative.row));
    if (domainFactor === undefined) return cost;
    const key = this.context.compiled.space.find(domainFactor.key);
    return key !== undefined && values[key] === domainFactor.domain ? cost * domainFactor.factor : cost;
  }

  /** Price of a node of the row including the surcharge, dollars per hour. */
  priceOf(row: number): number {
    return this.context.compiled.universe.rows[row]!.offering.price + this.context.surcharge;
  }

  leavesPlaceForNext({ rules }: ClassAtLevel, domainOf: DomainOf, { places }: PlacementChoice): boolean {
    return places === undefined || this.context.lookahead.leavesPlaceForNext(rules, domainOf, places);
  }

  private domain(values: Profile['values'], { key }: Group): string | undefined {
    return this.valueAt(values, key);
  }

  valueAt(values: Profile['values'], key: string): string | undefined {
    const index = this.context.compiled.space.find(key);
    return index === undefined ? undefined : values[index];
  }

  private countInDomains(rules: Rules, values: Profile['values']): number {
    const { topologyCounts } = this.context;
    let pods = 0;
    for (const group of rules.matched) {
      const domain = group.hostname ? undefined : this.domain(values, group);
      if (domain !== undefined) pods += topologyCounts.count(group, domain);
    }
    return pods;
  }

  /**
   * The cheapest row of the profiles that holds the usage within limits; -1 if there is none. The row of `tentative`
   * counts as free.
   */
  private cheapest(profiles: readonly Profile[], usage: Float64Array, tentative: TentativeNode | undefined): number {
    const { offers, universe } = this.context.compiled;
    const dims = usage.length;
    let best = -1;
    for (const profile of profiles) {
      const own = offers.of(profile);
      const { rows, capacity } = own;
      this.effort.spent++;
      for (let i = firstInReach(own, usage); i < rows.length; i++) {
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

  /**
   * What the node reserves of limits, so that its claim can list enough types for minValues; undefined if it cannot.
   */
  private reserveFor(
    tentative: TentativeNode | undefined,
    row: number,
    atLevel: ClassAtLevel,
  ): readonly number[] | undefined {
    const { compiled, reserveOf } = this.context;
    if (!this.withMinValues.has(compiled.universe.rows[row]!.profile.pool)) return none;
    const claim: OpenClaim = {
      row,
      members: [...(tentative?.members ?? []), { ...atLevel, pods: [atLevel.podClass.pods[0]!] }],
      pinnedKeys: new Set([...(tentative?.pinnedKeys ?? []), ...atLevel.rules.keys]),
    };
    if (tentative !== undefined) this.limitUse.charge(tentative.row, tentative.reserve, -1);
    this.limitUse.charge(row, none, 1);
    const { podClass, levelIndex } = atLevel;
    const before = tentative === undefined ? '' : contentOf(tentative);
    const text = `${before} ${podClass.index}.${levelIndex} ${row} ${this.limitUse.remaining()}`;
    if (!this.reserves.has(text)) {
      this.reserves.set(text, reserveOf(claim));
      this.effort.spent += listingWork;
    }
    const reserve = this.reserves.get(text);
    this.limitUse.charge(row, none, -1);
    if (tentative !== undefined) this.limitUse.charge(tentative.row, tentative.reserve, 1);
    return reserve;
  }
}

function isBetterPlace(cost: number, podsInDomains: number, best: Move | undefined): boolean {
  return (
    best === undefined || cost < best.cost - 1e-12 || (cost < best.cost + 1e-12 && podsInDomains < best.podsInDomains)
  );
}

function better(a: Move | undefined, b: Move | undefined): Move | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.cost !== b.cost) return a.cost < b.cost ? a : b;
  return b.podsInDomains < a.podsInDomains ? b : a;
}
