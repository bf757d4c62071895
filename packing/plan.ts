import { compile } from './compiled.js';
import { solve } from './solve.js';
import type { PackingInput, Plan } from './types.js';

/**
 * What to launch for the pods that pend, and where everything goes, at the least price found (section 2). Pure: equal inputs
 * give equal plans, in whatever order their objects come. A bad pod is reported in `unschedulable` and stops no other.
 */
export function plan(input: PackingInput): Plan {
  return solve(compile(input));
}
