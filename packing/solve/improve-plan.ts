import { compareText } from '../../core/text.js';
import type { Compiled } from '../compile/compiled.js';
import { minValuesReserve } from '../output/claims.js';
import type { ClaimContext } from '../output/claim-context.js';
import { lowerBoundOfPlaced } from '../place/lower-bound.js';
import type { OpenClaim } from '../place/open-claim.js';
import { podsIn } from '../place/part.js';
import { PlacementState } from '../refine/placement-state.js';
import { Incumbent } from '../refine/incumbent.js';
import { searchWhole } from '../refine/whole-search.js';
import { mostSearched, nearEnough, type WorkingPlan } from './working-plan.js';
import { fullName } from '../../core/names.js';

/**
 * Places left-over pods one by one if possible, and searches further if the plan is small: bins are bought after
 * domains are decided, and ignore limits and minValues.
 */
export function improvePlan(working: WorkingPlan): void {
  const left = working.unplaced.worthAnotherTry();
  const pods = left.length + working.claims.reduce((sum, { members }) => sum + podsIn(members), 0);
  if (pods === 0) return;
  const isSmall = pods <= mostSearched;
  if (!isSmall && left.length === 0) return;
  const { compiled } = working;
  const state = placementStateOf(working);
  for (const claim of inNameOrder(compiled, working.claims)) state.adopt(claim);
  const best = new Incumbent(state, left);
  const { nodeCost = 0 } = compiled.input.settings;
  searchWhole(best, {
    target: isSmall
      ? lowerBoundOfPlaced(working, working.placed(), working.surcharge) * (working.isExact ? 1 + 1e-9 : nearEnough)
      : undefined,
    rulesOfPod: rulesOfPod(working),
    nodeCost: nodeCost + (working.surcharge ?? 0),
    isExact: working.isExact,
  });
  working.claims = state.claims();
  state.release();
  working.unplaced.forget(new Set(left.map(({ pod }) => pod)));
  for (const { podClass, pod } of best.unplaced) working.unplaced.add(podClass, [pod]);
}

function placementStateOf({
  compiled,
  feasibility,
  book,
  topologyCounts,
  exhausted,
  nodes,
  limits,
  assigner,
  surcharge = 0,
}: WorkingPlan): PlacementState {
  const { lookahead } = assigner;
  const claims: ClaimContext = { compiled, feasibility, limits };
  const reserveOf = (claim: OpenClaim): readonly number[] | undefined => minValuesReserve(claims, claim);
  return new PlacementState({
    compiled,
    feasibility,
    book,
    topologyCounts,
    exhausted,
    nodes,
    lookahead,
    limits,
    reserveOf,
    surcharge,
  });
}

/** Average number of rules that select a pod. */
function rulesOfPod({ compiled, book }: WorkingPlan): number {
  let pods = 0;
  let rules = 0;
  for (const podClass of compiled.queue) {
    const level = compiled.levelsByShape[podClass.shape.index]!.at(-1)!;
    pods += podClass.pods.length;
    rules += podClass.pods.length * book.of(podClass.shape, level).matched.length;
  }
  return rules / Math.max(1, pods);
}

/**
 * Claims sorted by their first pod, members in queue order, so that the result does not depend on the order of the
 * input.
 */
function inNameOrder({ queue }: Compiled, claims: readonly OpenClaim[]): OpenClaim[] {
  const rank = new Map(queue.map((podClass, i) => [podClass, i]));
  const keyed = claims.map((claim) => {
    const members = claim.members
      .map((member) => ({ ...member, pods: [...member.pods].sort((a, b) => compareText(fullName(a), fullName(b))) }))
      .sort((a, b) => rank.get(a.podClass)! - rank.get(b.podClass)!);
    const names = members.map(({ pods }) => fullName(pods[0]!)).sort(compareText);
    return { claim: { ...claim, members }, first: names[0]! };
  });
  return keyed.sort((a, b) => compareText(a.first, b.first)).map(({ claim }) => claim);
}
