import type { NodeState } from '../../packing/trial.js';
import type { PlannedClaim } from '../../packing/types.js';
import type { ChangingFleet } from './changing-fleet.js';
import { groupUnits } from './command-budgets.js';
import { isEmptied, priceOfAll, type FleetNode } from './fleet.js';
import type { OutcomeEvaluator } from './outcome-evaluator.js';
import type { DecidedOutcome, Outcome } from './outcome.js';
import type { ConsolidationPlan } from './plan.js';
import type { ConsolidationCommand } from './types.js';

/** Evaluates the removal of given nodes (commands/validation). */
export class Reconsideration {
  constructor(
    private readonly fleet: ChangingFleet,
    private readonly judge: OutcomeEvaluator,
    private readonly makePlan: () => ConsolidationPlan,
  ) {}

  take(candidates: readonly string[]): ConsolidationCommand | undefined {
    const wanted = new Set(candidates);
    const nodes = this.fleet.alive().filter(({ name, removable }) => removable && wanted.has(name));
    const empty = nodes.filter(isEmptied);
    const isProtected =
      this.fleet.budgets.take(this.fleet.counted(), empty, 'Empty', empty.length).length < empty.length;
    if (nodes.length < wanted.size || isProtected) return undefined;
    this.fleet.setTargetsWithout(nodes);
    const { decided, mostReplacements = Infinity } = this.fleet.input;
    const outcome = decided === undefined ? this.atBest(nodes, mostReplacements) : this.asDecided(nodes, decided);
    if (outcome === undefined) return undefined;
    this.fleet.carryOut(outcome);
    return this.fleet.commands.at(-1);
  }

  whyStays(node: string): string | undefined {
    const kept = this.fleet.held.find((one) => one.node === node);
    if (kept !== undefined) return kept.why;
    if (this.take([node]) !== undefined) return undefined;
    return this.judge.whyRejected(node);
  }

  /** The best outcome for these nodes with at most this many launches, or with more if that is impossible. */
  private atBest(nodes: readonly FleetNode[], most: number): DecidedOutcome | undefined {
    const outcome = this.judge.evaluate(nodes, groupUnits);
    if (outcome !== undefined && outcome.launches.length <= most) return outcome;
    const changes = outcome === undefined ? [] : this.fleet.simulation.undo();
    const fewer = this.within(nodes, most);
    if (fewer === undefined) this.fleet.simulation.redo(changes);
    return fewer ?? outcome;
  }

  /**
   * The outcome with exactly these replacements at current prices; undefined if it is no longer allowed or saves too
   * little. Pods are first placed as the decision says, because in another order they may take one another's only
   * place.
   */
  private asDecided(nodes: readonly FleetNode[], decided: readonly PlannedClaim[]): DecidedOutcome | undefined {
    const { attempts } = this.fleet.simulation;
    const outcome = attempts.byDecision(nodes, decided, this.decidedMoves()) ?? attempts.byDecision(nodes, decided);
    if (outcome === undefined) return undefined;
    const gain = priceOfAll(nodes);
    const saving = gain - priceOfAll(outcome.launches);
    const isTooLittle =
      this.judge.isTooLittle(nodes, saving, this.judge.leastFor(outcome)) || !this.judge.isWorth(nodes, gain, saving);
    if (isTooLittle || this.judge.isSpotForSpot(outcome)) return undefined;
    return { ...outcome, planned: decided };
  }

  /** Names of the pods that are to move to each target that is still there. */
  private decidedMoves(): ReadonlyMap<NodeState, ReadonlySet<string>> {
    const podsTo = new Map<string, Set<string>>();
    for (const { pod, to } of this.fleet.input.decidedMoves ?? []) {
      const there = podsTo.get(to);
      if (there === undefined) podsTo.set(to, new Set([pod]));
      else there.add(pod);
    }
    const targets = this.fleet.alive().filter(({ open }) => open);
    return new Map(
      targets.flatMap(({ name, state }) => {
        const pods = podsTo.get(name) ?? podsTo.get(state.view.claim?.metadata.name ?? '');
        return pods === undefined ? [] : [[state, pods] as const];
      }),
    );
  }

  /**
   * Ways to move the pods, the quickest first. A plan of the whole fleet finds places for pods that would take the room
   * of others if they were placed one by one.
   */
  private *ways(nodes: readonly FleetNode[], most: number): Iterable<() => Outcome | undefined> {
    const { attempts } = this.fleet.simulation;
    yield () => attempts.byPlacing(nodes);
    const { fleetPlan } = this.makePlan();
    yield () => attempts.byPlan(nodes, fleetPlan);
    if (most > 0) yield () => attempts.onOneNode(nodes, priceOfAll(nodes));
  }

  /**
   * The best outcome with at most this many launches. The decision may be part of a larger plan, in which one launch
   * serves several commands, while these nodes alone would be replaced more cheaply by smaller ones.
   */
  private within(nodes: readonly FleetNode[], most: number): DecidedOutcome | undefined {
    for (const way of this.ways(nodes, most)) {
      this.fleet.setTargetsWithout(nodes);
      const outcome = way();
      if (outcome === undefined) continue;
      const decided = outcome.launches.length <= most ? this.judge.decide(outcome) : undefined;
      if (decided !== undefined) return decided;
      this.fleet.simulation.undo();
    }
    return undefined;
  }
}
