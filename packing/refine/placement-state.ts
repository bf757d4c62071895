import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import type { OpenClaim } from '../place/open-claim.js';
import type { PoolLimit } from '../compile/pool-limits.js';
import { isFree } from '../place/admission.js';
import type { Feasibility } from '../place/feasibility.js';
import { removePorts, type PlacedPod, type NodeState } from '../place/node-states.js';
import type { SpreadLookahead } from '../place/spread-lookahead.js';
import type { Compiled } from '../compile/compiled.js';
import { selectsOwn } from '../place/host-rules.js';
import { siteOf, type TopologyCounts } from '../topology/topology-counts.js';
import type { RuleBook } from '../topology/rules.js';
import { ExistingNodes } from './existing-nodes.js';
import { LimitUse } from './limit-use.js';
import { Moves, type DomainOf, type Move, type PlacementChoice, type SpentEffort } from './moves.js';
import { ProfileLists } from './profile-lists.js';
import type { UnplacedPod } from './unplaced-pods.js';
import { openClaimOf, type ClassAtLevel, type TentativeMember, type TentativeNode } from './tentative-node.js';

interface PlacementContext {
  readonly compiled: Compiled;
  readonly feasibility: Feasibility;
  readonly book: RuleBook;
  readonly topologyCounts: TopologyCounts;
  /** Profiles of pools with an exhausted limit. */
  readonly exhausted: ReadonlySet<Profile>;
  readonly nodes: readonly NodeState[];
  readonly lookahead: SpreadLookahead;
  /** Remaining limits; kept up to date. */
  readonly limits: readonly PoolLimit[];
  /** By limit: what a claim needs beyond its row to meet the minValues of its pool; undefined if they cannot be met. */
  readonly reserveOf: (claim: OpenClaim) => readonly number[] | undefined;
  /** Surcharge of each tentative node, dollars per hour. */
  readonly surcharge: number;
}

/** A place for one pod and the increase of the price, dollars per hour. */
interface PodChoice {
  readonly cost: number;
  readonly put: () => void;
}

const none: readonly number[] = [];
const noKey = (): boolean => false;

/**
 * The plan while it is changed one pod at a time, on existing and tentative nodes. Tracks topology counts, host ports,
 * volumes and limits, and can undo every change. Slower than bins, but checks every rule.
 */
export class PlacementState {
  readonly tentativeNodes: TentativeNode[] = [];
  readonly existing: ExistingNodes;
  private readonly effort: SpentEffort = { spent: 0 };
  private readonly undoSteps: (() => void)[] = [];
  private readonly lists: ProfileLists;
  private readonly limitUse: LimitUse;
  private readonly moves: Moves;
  private nodesMade = 0;

  constructor(readonly context: PlacementContext) {
    this.existing = new ExistingNodes(context, this.undoSteps);
    this.lists = new ProfileLists(context.compiled.space, context.feasibility, context.book.daemonPods);
    this.limitUse = new LimitUse(context.compiled, context.limits);
    this.moves = new Moves(context, this.lists, this.limitUse, this.tentativeNodes, this.effort);
  }

  /** Work done so far: rows, tentative nodes and domains checked. */
  get work(): number {
    return this.effort.spent;
  }

  set work(spent: number) {
    this.effort.spent = spent;
  }

  /** Price of the tentative nodes including the surcharge, dollars per hour. */
  price(): number {
    let price = 0;
    for (const { row } of this.tentativeNodes) price += this.moves.priceOf(row);
    return price;
  }

  atLevel(podClass: PodClass, levelIndex: number): ClassAtLevel {
    const level = this.context.compiled.levelsByShape[podClass.shape.index]![levelIndex]!;
    return { podClass, level, levelIndex, rules: this.context.book.of(podClass.shape, level) };
  }

  /** Every class at its last relaxation level, which has no preferences. */
  required(): ClassAtLevel[] {
    return this.context.compiled.queue.map((podClass) => this.atLastLevel(podClass));
  }

  /** The class without preferences. */
  atLastLevel(podClass: PodClass): ClassAtLevel {
    return this.atLevel(podClass, this.context.compiled.levelsByShape[podClass.shape.index]!.length - 1);
  }

  /** Adds a claim made of bins. Limits and topology counts include it already, except counts by host name. */
  adopt({ row, members, pinnedKeys }: OpenClaim): void {
    const { feasibility, compiled, topologyCounts } = this.context;
    const own = compiled.universe.rows[row]!.profile;
    const tentative = this.newTentativeNode(row, feasibility.intern([own]), pinnedKeys);
    let profiles: readonly Profile[] | undefined;
    for (const { podClass, level, pods } of members) {
      const levelIndex = compiled.levelsByShape[podClass.shape.index]!.indexOf(level);
      const atLevel = this.atLevel(podClass, levelIndex);
      const holding = feasibility.holding(podClass, level);
      profiles = profiles === undefined ? holding : this.lists.intersection(profiles, holding);
      tentative.members.push({ ...atLevel, pods: [...pods] });
      this.count(tentative, atLevel, pods.length);
      topologyCounts.record(atLevel.rules, pods.length, siteOf(own, tentative.host), noKey);
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
    if (this.moves.hasMinValues(own.pool))
      this.limitUse.reserve((tentative.reserve = this.context.reserveOf(openClaimOf(tentative)) ?? none), 1);
    this.tentativeNodes.push(tentative);
  }

  /** Refunds to the limits what the tentative nodes reserve for minValues. */
  release(): void {
    for (const { reserve } of this.tentativeNodes) this.limitUse.reserve(reserve, -1);
  }

  /** The tentative nodes as claims. */
  claims(): OpenClaim[] {
    return this.tentativeNodes.map((tentative) => openClaimOf(tentative));
  }

  private newTentativeNode(row: number, profiles: readonly Profile[], pinnedKeys: ReadonlySet<string>): TentativeNode {
    const { offers, universe } = this.context.compiled;
    return {
      host: `\u0000${this.nodesMade++}`,
      ports: [],
      attach: undefined,
      get uncounted() {
        return offers.of(universe.rows[this.row]!.profile).daemons;
      },
      members: [],
      usage: new Float64Array(this.context.compiled.dimensions.count),
      profiles,
      pinnedKeys,
      row,
      reserve: none,
      count: 0,
      content: undefined,
    };
  }

  private count(tentative: TentativeNode, { podClass }: ClassAtLevel, pods: number): void {
    const demand = this.context.feasibility.demand(podClass);
    for (let d = 0; d < demand.length; d++) tentative.usage[d] = tentative.usage[d]! + pods * demand[d]!;
    tentative.count += pods;
    tentative.content = undefined;
    if (pods > 0) tentative.ports.push(...podClass.shape.hostPorts);
  }

  /** Places the pod at the first relaxation level up to `lastLevel` at which it has a place; returns whether it has one. */
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

  /** The weight of the NodePools in which a node is launched for such a pod. */
  heaviest({ podClass, lastLevel }: UnplacedPod): number {
    return this.moves.heaviest(this.atLevel(podClass, lastLevel));
  }

  /**
   * Every place for the pod at the first relaxation level, up to `lastLevel`, that has one; the cheapest first.
   * Existing nodes cost nothing. Does not check spreads that count the pod itself: later pods may even them out.
   */
  choices({ podClass, pod, lastLevel }: UnplacedPod): PodChoice[] {
    for (let levelIndex = 0; levelIndex <= lastLevel; levelIndex++) {
      const atLevel = this.atLevel(podClass, levelIndex);
      const { rules } = atLevel;
      const others = rules.spread.filter((group) => !selectsOwn(rules, group));
      const uneven = { ...atLevel, rules: { ...rules, spread: others } };
      const isCounted = ({ values }: Pick<Profile, 'values'>): boolean =>
        rules.spread.every(({ key }) => this.moves.valueAt(values, key) !== undefined);
      const nodes = this.existing.nodes.filter(
        (node) => isCounted(node.kind) && this.existing.admits(node, { ...uneven, pod }),
      );
      this.effort.spent += this.existing.takeChecks();
      const moves = this.moves
        .all(uneven, pod)
        .filter(({ profiles }) => isCounted(profiles[0]!))
        .sort((a, b) => a.cost - b.cost);
      if (nodes.length + moves.length === 0) continue;
      return [
        ...nodes.map((node) => ({ cost: 0, put: () => this.existing.put(node, { ...atLevel, pod }) })),
        ...moves.map((move) => {
          const at = move.tentative === undefined ? -1 : this.tentativeNodes.indexOf(move.tentative);
          return {
            cost: move.cost,
            put: () => this.put({ ...move, tentative: this.tentativeNodes[at] }, atLevel, pod),
          };
        }),
      ];
    }
    return [];
  }

  private insertOn(atLevel: ClassAtLevel, pod: Pod, choice: PlacementChoice): boolean {
    const node = this.existing.find({ ...atLevel, pod }, (domainOf) =>
      this.moves.leavesPlaceForNext(atLevel, domainOf, choice),
    );
    this.effort.spent += this.existing.takeChecks();
    if (node !== undefined) {
      this.existing.put(node, { ...atLevel, pod });
      return true;
    }
    const move = this.moves.choose(atLevel, pod, choice);
    if (move === undefined) return false;
    this.put(move, atLevel, pod);
    return true;
  }

  /** The domains of every node that could hold the pod if it were empty. */
  private allPlaces({ podClass, level, rules }: ClassAtLevel): DomainOf[] {
    const launched = this.lists.placesOf(this.context.feasibility.holding(podClass, level), rules.keys).map(
      ({ values }): DomainOf =>
        (key) =>
          this.moves.valueAt(values, key),
    );
    return [...launched, ...this.existing.places({ podClass, rules })];
  }

  /** Like `insert`, on this node only. */
  insertInto(host: TentativeNode | NodeState, podClass: PodClass, pod: Pod, lastLevel: number): boolean {
    for (let levelIndex = 0; levelIndex <= lastLevel; levelIndex++) {
      const atLevel = this.atLevel(podClass, levelIndex);
      if (!('members' in host)) {
        if (!this.existing.admits(host, { ...atLevel, pod })) continue;
        this.existing.put(host, { ...atLevel, pod });
        return true;
      }
      const move = this.moves.joinMove(host, atLevel, pod, { mode: 'cheap' });
      if (move === undefined) continue;
      this.put(move, atLevel, pod);
      return true;
    }
    return false;
  }

  /** Removes one pod of the member from the tentative node. */
  take(tentative: TentativeNode, member: TentativeMember): void {
    const { members, ports } = tentative;
    const at = members.indexOf(member);
    const pod = member.pods.pop()!;
    const portsBefore = [...ports];
    if (member.pods.length === 0) members.splice(at, 1);
    this.count(tentative, member, -1);
    removePorts(ports, member.podClass.shape.hostPorts);
    this.record(tentative, member, -1);
    this.undoSteps.push(() => {
      this.record(tentative, member, 1);
      this.count(tentative, member, 1);
      ports.splice(0, Infinity, ...portsBefore);
      if (member.pods.length === 0) members.splice(at, 0, member);
      member.pods.push(pod);
    });
  }

  /** A pod on an existing node as an unplaced pod, which may not be relaxed beyond its current level. */
  unplacedOf({ podClass, rules, pod }: PlacedPod): { podClass: PodClass; pod: Pod; lastLevel: number } {
    const lastLevel = this.context.compiled.levelsByShape[podClass.shape.index]!.indexOf(rules.level);
    return { podClass, pod, lastLevel };
  }

  /** Whether a pod of the member can be removed alone: no pod on the node needs it by pod affinity. */
  isFree({ members, host }: TentativeNode, { rules }: TentativeMember): boolean {
    return isFree(this.context.topologyCounts, rules, host, members);
  }

  private put(move: Move, atLevel: ClassAtLevel, pod: Pod): void {
    const { podClass, level, rules } = atLevel;
    const tentative = move.tentative ?? this.newTentativeNode(move.row, move.profiles, new Set());
    const { profiles, pinnedKeys, row, reserve } = tentative;
    const ports = tentative.ports.length;
    if (move.tentative === undefined) this.tentativeNodes.push(tentative);
    else {
      this.limitUse.charge(row, reserve, -1);
      this.recordDaemons(row, -1);
    }
    this.limitUse.charge(move.row, move.reserve, 1);
    this.recordDaemons(move.row, 1);
    tentative.row = move.row;
    tentative.reserve = move.reserve;
    tentative.profiles = move.profiles;
    if (rules.keys.some((key) => !tentative.pinnedKeys.has(key)))
      tentative.pinnedKeys = new Set([...tentative.pinnedKeys, ...rules.keys]);
    let member = tentative.members.find((one) => one.podClass === podClass && one.level === level);
    if (member === undefined) tentative.members.push((member = { ...atLevel, pods: [] }));
    member.pods.push(pod);
    this.count(tentative, atLevel, 1);
    this.record(tentative, atLevel, 1);
    this.undoSteps.push(() => {
      this.record(tentative, atLevel, -1);
      this.count(tentative, atLevel, -1);
      tentative.ports.length = ports;
      member.pods.pop();
      if (member.pods.length === 0) tentative.members.pop();
      this.limitUse.charge(tentative.row, tentative.reserve, -1);
      this.recordDaemons(tentative.row, -1);
      if (move.tentative === undefined) this.tentativeNodes.pop();
      else {
        this.limitUse.charge(row, reserve, 1);
        this.recordDaemons(row, 1);
      }
      Object.assign(tentative, { profiles, pinnedKeys, row, reserve } satisfies Partial<TentativeNode>);
    });
  }

  /** Removes a tentative node with all its pods. */
  remove(tentative: TentativeNode): void {
    const at = this.tentativeNodes.indexOf(tentative);
    this.tentativeNodes.splice(at, 1);
    for (const member of tentative.members) this.record(tentative, member, -member.pods.length);
    this.limitUse.charge(tentative.row, tentative.reserve, -1);
    this.recordDaemons(tentative.row, -1);
    this.undoSteps.push(() => {
      this.limitUse.charge(tentative.row, tentative.reserve, 1);
      this.recordDaemons(tentative.row, 1);
      for (const member of tentative.members) this.record(tentative, member, member.pods.length);
      this.tentativeNodes.splice(at, 0, tentative);
    });
  }

  /** Undoes every change since `commit`, or all but the first `changes`. */
  undo(changes = 0): void {
    while (this.undoSteps.length > changes) this.undoSteps.pop()!();
  }

  /** The number of changes since `commit`. */
  get changes(): number {
    return this.undoSteps.length;
  }

  commit(): void {
    this.undoSteps.length = 0;
  }

  private recordDaemons(row: number, nodes: 1 | -1): void {
    const { compiled, topologyCounts } = this.context;
    topologyCounts.recordDaemons(compiled.universe.rows[row]!.profile, nodes);
  }

  private record(tentative: TentativeNode, { rules }: ClassAtLevel, pods: number): void {
    this.context.topologyCounts.recordLaunch(rules, pods, tentative.profiles[0]!, tentative.host);
  }
}
