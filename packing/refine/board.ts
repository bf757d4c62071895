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
import { siteOf, type Ledger } from '../topology/ledger.js';
import type { RuleBook } from '../topology/rules.js';
import { ExistingNodes } from './existing-nodes.js';
import { LimitUse } from './limit-use.js';
import { Moves, type DomainOf, type Move, type PlacementChoice, type SpentEffort } from './moves.js';
import { ProfileLists } from './profile-lists.js';
import { openClaimOf, type ClassAtLevel, type TentativeMember, type TentativeNode } from './tentative-node.js';

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

/**
 * The nodes to launch, pod by pod, with every rule in force: a pod is put where it may be, and taken away again with all that
 * hangs on it. Slower than bins and exact: for what they left over, and to improve small plans.
 */
export class Board {
  readonly tentativeNodes: TentativeNode[] = [];
  /** Nodes that exist. */
  readonly existing: ExistingNodes;
  private readonly effort: SpentEffort = { spent: 0 };
  private readonly undoing: (() => void)[] = [];
  private readonly lists: ProfileLists;
  private readonly limitUse: LimitUse;
  private readonly moves: Moves;
  private hosts = 0;

  constructor(readonly context: BoardContext) {
    this.existing = new ExistingNodes(context, this.undoing);
    this.lists = new ProfileLists(context.compiled.space, context.feasibility);
    this.limitUse = new LimitUse(context.compiled, context.limits);
    this.moves = new Moves(context, this.lists, this.limitUse, this.tentativeNodes, this.effort);
  }

  /** Rows, nodes to launch and domains looked at so far. */
  get work(): number {
    return this.effort.spent;
  }

  set work(spent: number) {
    this.effort.spent = spent;
  }

  /** Dollars per hour. */
  price(): number {
    let price = 0;
    for (const { row } of this.tentativeNodes) price += this.moves.priceOf(row);
    return price;
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
    if (this.moves.isVaried(own.pool))
      this.limitUse.reserve((tentative.reserve = this.context.reserveOf(openClaimOf(tentative)) ?? none), 1);
    this.tentativeNodes.push(tentative);
  }

  /** Gives back what the tentative nodes hold of limits beyond their rows. */
  release(): void {
    for (const { reserve } of this.tentativeNodes) this.limitUse.reserve(reserve, -1);
  }

  /** The tentative nodes as claims. */
  claims(): OpenClaim[] {
    return this.tentativeNodes.map((tentative) => openClaimOf(tentative));
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
    const node = this.existing.find({ ...atLevel, pod }, (domainOf) => this.moves.staysOpen(atLevel, domainOf, choice));
    this.effort.spent += this.existing.lookedAt();
    if (node !== undefined) {
      this.existing.put(node, { ...atLevel, pod });
      return true;
    }
    const move = this.moves.choose(atLevel, pod, choice);
    if (move === undefined) return false;
    this.put(move, atLevel, pod);
    return true;
  }

  /** Wherever a pod like this could be if it were alone. */
  private allPlaces({ podClass, level, rules }: ClassAtLevel): DomainOf[] {
    const launched = this.lists.placesOf(this.context.feasibility.holding(podClass, level), rules.keys).map(
      ({ values }): DomainOf =>
        (key) =>
          this.moves.valueAt(values, key),
    );
    return [...launched, ...this.existing.places({ podClass, rules })];
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
      const move = this.moves.joining(host, atLevel, pod, { mode: 'cheap' });
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

  private put(move: Move, atLevel: ClassAtLevel, pod: Pod): void {
    const { podClass, level, rules } = atLevel;
    const tentative = move.tentative ?? this.newTentativeNode(move.row, move.profiles, new Set());
    const { profiles, pins, row, reserve } = tentative;
    const ports = tentative.ports.length;
    if (move.tentative === undefined) this.tentativeNodes.push(tentative);
    else this.limitUse.charge(row, reserve, -1);
    this.limitUse.charge(move.row, move.reserve, 1);
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
      this.limitUse.charge(tentative.row, tentative.reserve, -1);
      if (move.tentative === undefined) this.tentativeNodes.pop();
      else this.limitUse.charge(row, reserve, 1);
      Object.assign(tentative, { profiles, pins, row, reserve });
    });
  }

  /** Takes a tentative node away with all its pods. */
  remove(tentative: TentativeNode): void {
    const at = this.tentativeNodes.indexOf(tentative);
    this.tentativeNodes.splice(at, 1);
    for (const member of tentative.members) this.record(tentative, member, -member.pods.length);
    this.limitUse.charge(tentative.row, tentative.reserve, -1);
    this.undoing.push(() => {
      this.limitUse.charge(tentative.row, tentative.reserve, 1);
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
