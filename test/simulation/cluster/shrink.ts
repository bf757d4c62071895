import type { SimulationResult } from './simulate.js';
import type { SimulationPlan } from './stage.js';

/** Plays a plan; `simulate` with the code of the workflows. */
export type Play = (plan: SimulationPlan) => Promise<SimulationResult>;

/** What is left of a plan that fails, and how it ends. */
export interface Shrunk {
  readonly plan: SimulationPlan;
  readonly result: SimulationResult;
  readonly played: number;
}

/** What a problem says, without the names and numbers of its run: a smaller plan that fails in another way is another finding. */
const kindOf = (problem: string): string => problem.replaceAll(/\S*\d\S*/g, '#');

const kindsOf = ({ problems }: SimulationResult): ReadonlySet<string> => new Set(problems.map(kindOf));

/**
 * Finds a smaller plan that still fails in the same way: without faults of calls if it can be, then with as few happenings as it can be, without
 * ever smaller parts of them (delta debugging). `onTry` hears how many happenings are left after each success.
 */
export async function shrink(
  failing: SimulationPlan,
  play: Play,
  onTry: (left: number) => void = () => undefined,
): Promise<Shrunk> {
  let best = { plan: failing, result: await play(failing), played: 1 };
  const kinds = kindsOf(best.result);
  const attempt = async (plan: SimulationPlan): Promise<boolean> => {
    const result = await play(plan);
    best = { ...best, played: best.played + 1 };
    if (!result.problems.some((problem) => kinds.has(kindOf(problem)))) return false;
    best = { ...best, plan, result };
    onTry(result.happened.length);
    return true;
  };
  if (kinds.size === 0) return best;
  await attempt({ ...failing, withoutFaults: true });
  const steps = (): number[] => best.result.happened.map(({ step }) => step);
  for (let size = Math.ceil(steps().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // The end first: what comes after a failure's cause is seldom needed.
    for (let to = steps().length; to > 0; to -= size) {
      const part = steps().slice(Math.max(0, to - size), to);
      const leftOut = new Set([...(best.plan.leftOut ?? []), ...part]);
      if (part.length > 0) await attempt({ ...best.plan, leftOut });
    }
  }
  return best;
}
