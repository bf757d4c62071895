import type { PodClass } from '../compile/classes.js';
import type { NodeState } from '../place/node-states.js';
import { selectingOthers } from '../topology/rules.js';
import { Xorshift } from '../xorshift.js';
import type { PlacementState } from './placement-state.js';
import type { PlacementChoice } from './moves.js';
import type { ClassAtLevel, TentativeNode } from './tentative-node.js';
import type { Incumbent } from './incumbent.js';
import { insertAll, PlacingOrder, type UnplacedPod } from './unplaced-pods.js';

/** Nodes whose pods are removed and placed again together. */
interface Neighbourhood {
  readonly tentativeNodes?: readonly TentativeNode[];
  readonly nodes?: readonly NodeState[];
}

const modes = ['fill', 'cheap'] as const;
const orders = ['usual', 'reversed', 'random'] as const;
type Order = (typeof orders)[number];
/** All pods on existing nodes are placed again together only up to this number. */
const mostMoved = 400;
/** After an improvement the search continues until it has done this many times the work so far. */
const extensionFactor = 2.5;
/** Maximum number of rounds without improvement in which unplaced pods go first, and the effort for them. */
const mostIdleRounds = 30;
const prioritiseUnits = 100_000;

/** One in this many attempts first places pods whose spread also selects others. */
const countingFirstIn = 4;

interface Effort {
  /** See `SpentEffort`. */
  readonly units: number;
  /** Maximum units while the search finds improvements; absent: `units`. */
  readonly most?: number;
  /** A plan at or below this price is not searched further, dollars per hour. */
  readonly target: number;
}

/**
 * Large neighbourhood search: removes a few nodes of a plan, places their pods again one by one, and keeps the result
 * if more pods have a place or the plan costs less. Bounded by work instead of time, so that equal inputs give equal
 * results.
 */
export class Search {
  private readonly state: PlacementState;
  private readonly random = new Xorshift(0x9e3779b9);
  private readonly order: PlacingOrder;
  /** What was tried since the last improvement; see `isNew`. */
  private readonly triedInVain = new Set<string>();
  /** How often pods of a class were unplaced: these classes go first. */
  private readonly timesUnplaced = new Map<PodClass, number>();
  /** Classes whose spread also selects pods without that spread. */
  private readonly countingOthers: ReadonlySet<PodClass>;

  constructor(private readonly best: Incumbent) {
    const { state } = best;
    this.state = state;
    this.order = new PlacingOrder(state.context.compiled);
    this.countingOthers = classesCountingOthers(state.required());
  }

  /** Places unplaced pods without moving others. */
  placeUnplaced(): void {
    if (this.best.unplaced.length > 0) this.attempt({}, { mode: 'cheap' }, 'usual');
  }

  run(effort: Effort): void {
    const { state } = this;
    const { units, target } = effort;
    const begun = state.work;
    const end = begun + units;
    const enough = (): boolean => this.best.isEnough(target);
    for (const choice of this.choices()) {
      if (state.work >= end || enough()) return;
      this.attempt(state, choice, 'usual');
      const nodes = state.existing.occupied();
      if (nodes.length > 0 && podsOn(nodes) <= mostMoved)
        this.attempt({ tentativeNodes: state.tentativeNodes, nodes }, choice, 'usual');
    }
    const spent = state.work - begun;
    this.searchNeighbourhoods({ units: units - spent, most: (effort.most ?? units) - spent, target });
    for (const choice of this.lastChoices()) {
      if (!enough() && this.attempt(state, choice, 'usual')) this.searchNeighbourhoods(effort);
    }
    while (this.prioritiseUnplaced(state.work + prioritiseUnits)) this.searchNeighbourhoods(effort);
  }

  /**
   * Repeatedly places the pods of a few nodes again, until many attempts in a row have failed, the target is met, or
   * the units are used.
   */
  private searchNeighbourhoods({ units, most = units, target }: Effort): void {
    const { state } = this;
    const begun = state.work;
    let end = begun + units;
    let idle = 0;
    const mostIdle = 40 + 20 * (state.tentativeNodes.length + state.existing.occupied().length);
    while (
      state.work < end &&
      !this.best.isEnough(target) &&
      state.tentativeNodes.length + this.best.unplaced.length > 0 &&
      idle < mostIdle
    ) {
      const choice: PlacementChoice = {
        mode: this.random.next() % 4 === 0 ? 'fill' : 'cheap',
        ...this.randomDomainFactor(),
        ...this.randomCounting(),
      };
      const area = this.pickNeighbourhood();
      const order = this.random.next() % 3 > 0 ? orders[this.random.next() % 3]! : 'usual';
      const isBetter = this.isNew(area, choice, order) && this.attempt(area, choice, order);
      idle = isBetter ? 0 : idle + 1;
      if (isBetter) end = Math.min(begun + most, Math.max(end, begun + (state.work - begun) * extensionFactor));
      state.work += 20;
    }
  }

  /** Whether this was not tried since the last improvement: the result would be the same. */
  private isNew({ tentativeNodes = [], nodes = [] }: Neighbourhood, choice: PlacementChoice, order: Order): boolean {
    if (order === 'random') return true;
    const area = [...tentativeNodes.map(({ host }) => host), ...nodes.map(({ index }) => `${index}`)].sort().join();
    const { mode, domainFactor: { domain, factor } = {}, counting } = choice;
    const text = `${area} ${mode} ${domain ?? ''} ${factor ?? ''} ${counting ?? ''} ${order}`;
    if (this.triedInVain.has(text)) return false;
    this.triedInVain.add(text);
    return true;
  }

  /** Repeatedly places all pods again, most often unplaced pods first; returns whether more have a place afterwards. */
  private prioritiseUnplaced(end: number): boolean {
    const { state } = this;
    const before = this.best.unplaced.length;
    const choices = this.choices();
    let left = this.best.unplaced;
    for (let idle = 0; idle < mostIdleRounds && this.best.unplaced.length > 0 && state.work < end; idle++) {
      for (const podClass of new Set(left.map((each) => each.podClass))) {
        this.timesUnplaced.set(podClass, (this.timesUnplaced.get(podClass) ?? 0) + 1);
      }
      const nodes = state.existing.occupied();
      const area = podsOn(nodes) <= mostMoved ? { tentativeNodes: state.tentativeNodes, nodes } : state;
      left = this.placeAnew(area, choices[idle % choices.length]!, 'usual');
      if (!this.best.accept(left)) continue;
      this.triedInVain.clear();
      idle = -1;
    }
    this.timesUnplaced.clear();
    return this.best.unplaced.length < before;
  }

  /** The ways to place all pods again: by price, as Karpenter does, and each of the two with one domain preferred. */
  private choices(): PlacementChoice[] {
    return modes.flatMap((mode): PlacementChoice[] => [
      { mode },
      ...this.domains().map(({ key, domain }): PlacementChoice => ({
        mode,
        domainFactor: { key, domain, factor: 0.1 },
      })),
    ]);
  }

  /**
   * Ways that are tried last, and kept only if they immediately beat the best of the others, since their plans can
   * hardly be improved.
   */
  private lastChoices(): PlacementChoice[] {
    return [
      { mode: 'fill', anyWeight: true },
      ...(this.countingOthers.size === 0 ? [] : modes.map((mode): PlacementChoice => ({ mode, counting: 'last' }))),
    ];
  }

  private knownDomains: readonly { key: string; domain: string }[] | undefined;

  /** Every domain of every topology key in the rules of pods on tentative nodes. */
  private domains(): readonly { key: string; domain: string }[] {
    if (this.knownDomains !== undefined) return this.knownDomains;
    const { compiled } = this.state.context;
    const keys = new Set(this.state.tentativeNodes.flatMap(({ pinnedKeys }) => [...pinnedKeys]));
    const found: { key: string; domain: string }[] = [];
    for (const key of [...keys].sort()) {
      const index = compiled.space.find(key);
      if (index === undefined) continue;
      const values = new Set(compiled.universe.profiles.map((profile) => profile.values[index]));
      for (const domain of [...values].sort()) if (domain !== undefined) found.push({ key, domain });
    }
    return (this.knownDomains = found);
  }

  private randomDomainFactor(): Pick<PlacementChoice, 'domainFactor'> {
    const domains = this.domains();
    if (domains.length === 0 || this.random.next() % 2 === 0) return {};
    return {
      domainFactor: {
        ...domains[this.random.next() % domains.length]!,
        factor: this.random.next() % 2 === 0 ? 0.3 : 3,
      },
    };
  }

  private randomCounting(): Pick<PlacementChoice, 'counting'> {
    return this.countingOthers.size > 0 && this.random.next() % countingFirstIn === 0 ? { counting: 'first' } : {};
  }

  /** Some random tentative nodes, or all with pods of one class, sometimes with one or two existing nodes. */
  private pickNeighbourhood(): Neighbourhood {
    const occupied = this.state.existing.occupied();
    if (occupied.length === 0) return { tentativeNodes: this.pickTentativeNodes() };
    const kind = this.random.next() % 3;
    if (kind > 0) return { tentativeNodes: this.pickTentativeNodes() };
    const nodes = new Set([occupied[this.random.next() % occupied.length]!]);
    if (this.random.next() % 2 === 0) nodes.add(occupied[this.random.next() % occupied.length]!);
    return { tentativeNodes: this.pickTentativeNodes(), nodes: [...nodes] };
  }

  private pickTentativeNodes(): TentativeNode[] {
    const { tentativeNodes } = this.state;
    if (tentativeNodes.length === 0) return [];
    const first = tentativeNodes[this.random.next() % tentativeNodes.length]!;
    if (this.random.next() % 4 === 0) {
      const { podClass } = first.members[this.random.next() % first.members.length]!;
      return tentativeNodes.filter(({ members }) => members.some((member) => member.podClass.shape === podClass.shape));
    }
    const chosen = new Set([first]);
    for (let more = this.random.next() % 4; more > 0; more--)
      chosen.add(tentativeNodes[this.random.next() % tentativeNodes.length]!);
    return [...chosen];
  }

  /** Places the pods of the neighbourhood and the unplaced ones again; returns whether the plan is better. */
  private attempt(area: Neighbourhood, choice: PlacementChoice, order: Order): boolean {
    const isBetter = this.best.accept(this.placeAnew(area, choice, order));
    if (isBetter) this.triedInVain.clear();
    return isBetter;
  }

  /**
   * Removes the pods of these nodes and places them and the unplaced ones again. Returns the pods that stay unplaced.
   */
  private placeAnew(
    { tentativeNodes = [], nodes = [] }: Neighbourhood,
    choice: PlacementChoice,
    order: Order,
  ): UnplacedPod[] {
    const { state } = this;
    this.best.begin();
    const unplaced = [...this.best.unplaced];
    for (const tentative of [...tentativeNodes]) {
      for (const { podClass, pods, levelIndex } of tentative.members) {
        for (const pod of pods) unplaced.push({ podClass, pod, lastLevel: levelIndex });
      }
      state.remove(tentative);
    }
    for (const node of nodes) {
      for (const placed of [...node.placed!]) {
        unplaced.push(state.unplacedOf(placed));
        state.existing.take(node, placed);
      }
    }
    // Places only add to the price: once it is higher than the best, the others need not be tried.
    const isFull = this.best.unplaced.length === 0;
    return insertAll(
      this.inOrder(unplaced, order, choice.counting),
      ({ podClass, pod, lastLevel }) =>
        !(isFull && state.price() > this.best.price + 1e-9) && state.insert(podClass, pod, lastLevel, choice),
    );
  }

  /** Formerly unplaced pods first; of the others, in the usual order, smallest first, or at random. */
  private inOrder(
    unplaced: readonly UnplacedPod[],
    order: Order,
    counting?: PlacementChoice['counting'],
  ): UnplacedPod[] {
    const { timesUnplaced, random } = this;
    const classes = this.state.context.compiled.queue.length;
    const key = (rank: number): number => {
      if (order === 'reversed') return -rank;
      return order === 'random' ? rank + (random.next() % classes) : rank;
    };
    return this.order.of(unplaced, { timesUnplaced, key, ...(counting && { [counting]: this.countingOthers }) });
  }
}

function classesCountingOthers(required: readonly ClassAtLevel[]): Set<PodClass> {
  const groups = selectingOthers(
    'spread',
    required.map(({ rules }) => rules),
  );
  const counts = ({ rules }: ClassAtLevel): boolean =>
    [...rules.spread, ...rules.hostSpread].some((group) => groups.has(group));
  return new Set(required.filter(counts).map(({ podClass }) => podClass));
}

const podsOn = (nodes: readonly NodeState[]): number => nodes.reduce((sum, { pods }) => sum + pods.length, 0);
