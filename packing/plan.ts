import { compile } from './compile/compiled.js';
import { withoutUnreadable } from './exclude-objects.js';
import { solve } from './solve/solve.js';
import type { PackingInput, Plan, ExcludedObject, Unschedulable } from './types.js';

/**
 * Which nodes to launch for the pending pods, and where each pod goes, at the lowest price found
 * (scheduling/pure-plan). Pure: equal inputs give equal plans, whatever the order of their objects. A pod that cannot
 * be planned is reported in `unschedulable`, any other object that cannot be read in `setAside`; neither stops the
 * planning of other pods.
 */
export function plan(input: PackingInput): Plan {
  const { result, setAside } = withoutUnreadable(input, (each) => solve(compile(each)));
  if (setAside.length === 0) return result;
  const pods = setAside.filter(({ kind }) => kind === 'Pod').map(unplannable);
  const unschedulable = [...result.unschedulable, ...pods];
  const others = setAside.filter(({ kind }) => kind !== 'Pod');
  return { ...result, unschedulable, ...(others.length === 0 ? {} : { setAside: others }) };
}

function unplannable({ name, error }: ExcludedObject): Unschedulable {
  return {
    pod: name,
    reason: `the pod cannot be planned and was left out, so that others can be: ${error}`,
    blockers: [],
  };
}
