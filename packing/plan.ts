import { compile } from './compile/compiled.js';
import { withoutUnreadable } from './exclude-objects.js';
import { solve } from './solve/solve.js';
import type { PackingInput, Plan, ExcludedObject, Unschedulable } from './types.js';

/**
 * What to launch for the pods that pend, and where everything goes, at the least price found (scheduling/pure-plan). Pure: equal inputs
 * give equal plans, in whatever order their objects come. A bad pod is reported in `unschedulable` and stops no other; nor does any
 * other object that packing cannot work with (`setAside`).
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
