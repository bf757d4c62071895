import { fullName } from '../../core/names.js';
import { compareText } from '../../core/text.js';
import type { Compiled } from '../compile/compiled.js';
import { corneredClasses } from '../output/cornered-pods.js';
import { leftOutOf } from '../output/left-out.js';
import { relaxedPods } from '../output/relaxed-pods.js';
import { rulesIgnoredByBound } from '../place/ignored-by-bound.js';
import { lowerBoundOfPlaced } from '../place/lower-bound.js';
import type { Plan, PlannedClaim } from '../types.js';
import { Assignment, type Waiting } from './assignment.js';
import { describeClaims } from './describe-claims.js';
import { improvePlan } from './improve-plan.js';
import { NodePurchases } from './node-purchases.js';
import { WorkingPlan } from './working-plan.js';

/** Plans above this many times their bound explain what the bound does not take into account. */
export const explainedAbove = 1.03;

/** Places all pods: on existing nodes, then on new ones. */
export function solve(compiled: Compiled): Plan {
  const working = new WorkingPlan(compiled);
  const purchases = new NodePurchases(working);
  const assignment = new Assignment(working);
  for (let waiting = placeable(working); waiting.length > 0;) waiting = purchases.launch(assignment.assign(waiting));
  if (purchases.isShort || working.book.daemonPods.keys.length > 0) working.rebalance();
  describeClaims(working);
  improvePlan(working);
  return result(working, describeClaims(working));
}

/** All pods except invalid ones. */
function placeable({ compiled, unplaced }: WorkingPlan): Waiting[] {
  const waiting: Waiting[] = [];
  for (const podClass of compiled.queue) {
    if (compiled.invalid.has(podClass)) unplaced.add(podClass, podClass.pods);
    else waiting.push({ podClass, pods: podClass.pods });
  }
  return waiting;
}

function result(working: WorkingPlan, claims: readonly PlannedClaim[]): Plan {
  const { compiled, book, nodes, unplaced } = working;
  const newNodeClaims = nominating(working, claims).sort((a, b) => compareText(a.pods[0]!, b.pods[0]!));
  const pricePerHour = newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
  const placed = working.placed();
  const relaxed = relaxedPods(working);
  const lowerBoundPerHour = Math.min(lowerBoundOfPlaced(working, placed), pricePerHour);
  const isFar = pricePerHour > lowerBoundPerHour * explainedAbove;
  return {
    newNodeClaims,
    existingNodes: nodes
      .filter(({ pods }) => pods.length > 0)
      .map(({ view, pods }) => ({ node: view.name, pods: pods.map(fullName).sort(compareText) })),
    ...unplaced.described(),
    ...leftOutOf(compiled),
    ...(relaxed.length > 0 && { relaxed }),
    pricePerHour,
    lowerBoundPerHour,
    ...(isFar && { boundLeavesOut: rulesIgnoredByBound(compiled, book, placed) }),
  };
}

/** The claims, with the pods that must be nominated to their nodes. */
function nominating(working: WorkingPlan, claims: readonly PlannedClaim[]): PlannedClaim[] {
  const cornered = corneredClasses(working, working.claims);
  if (cornered.size === 0) return [...claims];
  const names = new Set([...cornered].flatMap(({ pods }) => pods.map(fullName)));
  return claims.map((claim) => {
    const nominated = claim.pods.filter((pod) => names.has(pod));
    return nominated.length === 0 ? claim : { ...claim, nominated };
  });
}
