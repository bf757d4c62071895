import type { KubernetesObject, Pod } from '../api/kubernetes.js';
import { compile } from './compile/compiled.js';
import type { ClusterObjects, PackingInput, ExcludedObject } from './types.js';
import { messageOf } from '../core/error-message.js';
import { nameOf } from '../core/names.js';

/** Objects of one kind that can be left out one by one. */
interface Removable<I> {
  readonly names: readonly string[];
  readonly kindOf: (index: number) => string;
  /** The input with only the first `count` of them. */
  readonly keep: (count: number) => I;
  /** The input without the one at `index`. */
  readonly drop: (index: number) => I;
}

/** If more objects fail, the fault is not in single objects. */
const mostExcluded = 32;

/** The part of the input from which objects are left out. */
type Objects = Pick<PackingInput, 'objects' | 'catalogues'>;

interface WithoutExcluded<R> {
  readonly result: R;
  readonly setAside: readonly ExcludedObject[];
}

/**
 * `excluding` for a run that begins with compiling. Compiling alone is the cheaper attempt, and what fails in it fails
 * in the run.
 */
export function withoutUnreadable<I extends PackingInput, R>(input: I, run: (input: I) => R): WithoutExcluded<R> {
  return excluding(input, run, compile);
}

/**
 * Returns the result of `run`. If it throws, finds the object that makes it throw and leaves it out, until `run`
 * succeeds; each object costs about log2(objects) attempts. Rethrows if no single object is the cause. `first` is a
 * cheaper part of `run`.
 */
export function excluding<I extends Objects, R>(
  input: I,
  run: (input: I) => R,
  first: (input: I) => unknown = run,
): WithoutExcluded<R> {
  const setAside: ExcludedObject[] = [];
  let current = input;
  for (;;) {
    try {
      return { result: run(current), setAside };
    } catch (error) {
      const found = setAside.length < mostExcluded ? culpritOf(current, run, first) : undefined;
      if (found === undefined) throw error;
      const { kind, name, rest } = found;
      setAside.push({ kind, name, error: messageOf(error) });
      current = rest;
    }
  }
}

/**
 * Empties the groups one after the other until nothing throws: the last group emptied contains a culprit, found by
 * bisection while the groups before it stay empty. Culprits of several kinds are found one by one.
 */
function culpritOf<I extends Objects>(
  input: I,
  run: (input: I) => unknown,
  first: (input: I) => unknown,
): { readonly kind: string; readonly name: string; readonly rest: I } | undefined {
  const probe = throws(first, input) ? first : run;
  const whole = removablesOf(input);
  let reduced = input;
  for (const [at, { kindOf, names, drop }] of whole.entries()) {
    const { keep } = removablesOf(reduced)[at]!;
    const emptied = keep(0);
    if (throws(probe, emptied)) {
      reduced = emptied;
      continue;
    }
    if (names.length === 0) return undefined;
    let good = 0;
    for (let bad = names.length; bad - good > 1;) {
      const middle = (good + bad) >> 1;
      if (throws(probe, keep(middle))) bad = middle;
      else good = middle;
    }
    return { kind: kindOf(good), name: names[good]!, rest: drop(good) };
  }
  return undefined;
}

function throws<I>(run: (input: I) => unknown, input: I): boolean {
  try {
    run(input);
    return false;
  } catch {
    return true;
  }
}

/**
 * The most likely causes first: objects that users write without review. Instance types before the pools that buy them,
 * and inputs of a single pool before pools: without any type a pool cannot fail, and the pools would be blamed.
 */
function removablesOf<I extends Objects>(input: I): readonly Removable<I>[] {
  const {
    pods,
    nodes = [],
    nodeClaims = [],
    nodePools,
    nodeOverlays = [],
    disruptionPolicies = [],
    ...lists
  } = input.objects;
  const withObjects = (change: Partial<ClusterObjects>): I => ({ ...input, objects: { ...input.objects, ...change } });
  const bound = pods.filter(isBound);
  const pending = pods.filter((pod) => !isBound(pod));
  const known = new Set(nodes.map(nameOf));
  return [
    removableList('Pod', pending, (kept) => withObjects({ pods: [...bound, ...kept] })),
    removableTypes(input),
    removableList('NodeOverlay', nodeOverlays, (kept) => withObjects({ nodeOverlays: kept })),
    removableList('DisruptionPolicy', disruptionPolicies, (kept) => withObjects({ disruptionPolicies: kept })),
    removableList('NodePool', nodePools, (kept) => withObjects({ nodePools: kept })),
    ...Object.entries(lists).map(([kind, list]) =>
      removableList(kind, list as readonly KubernetesObject[], (kept) => withObjects({ [kind]: kept })),
    ),
    // A node is left out together with its pods: without them it would look empty.
    removableList('Node', nodes, (kept) => {
      const names = new Set(kept.map(nameOf));
      const isGone = (node: string): boolean => known.has(node) && !names.has(node);
      return withObjects({ nodes: kept, pods: pods.filter((pod) => !isGone(pod.spec.nodeName ?? '')) });
    }),
    removableList('NodeClaim', nodeClaims, (kept) => withObjects({ nodeClaims: kept })),
  ];
}

const isBound = ({ spec }: Pod): boolean => (spec.nodeName ?? '') !== '';

function removableList<I, T extends KubernetesObject>(
  kind: string,
  list: readonly T[],
  withList: (kept: readonly T[]) => I,
): Removable<I> {
  return {
    kindOf: (index) => list[index]?.kind ?? kind,
    names: list.map(({ metadata }) =>
      metadata.namespace === undefined ? (metadata.name ?? '') : `${metadata.namespace}/${metadata.name ?? ''}`,
    ),
    keep: (count) => withList(list.slice(0, count)),
    drop: (index) => withList(list.filter((_, i) => i !== index)),
  };
}

/** Instance types by name, in all catalogues. */
function removableTypes<I extends Objects>(input: I): Removable<I> {
  const names = [...new Set([...input.catalogues.values()].flat().map(({ name }) => name))];
  const withTypes = (kept: ReadonlySet<string>): I => ({
    ...input,
    catalogues: new Map(
      [...input.catalogues].map(([pool, types]) => [pool, types.filter(({ name }) => kept.has(name))]),
    ),
  });
  return {
    kindOf: () => 'instance type',
    names,
    keep: (count) => withTypes(new Set(names.slice(0, count))),
    drop: (index) => withTypes(new Set(names.filter((_, i) => i !== index))),
  };
}
