import type { KubernetesObject, Pod } from '../api/kubernetes.js';
import { compile } from './compile/compiled.js';
import { nameOf } from './names.js';
import type { ClusterObjects, PackingInput, ExcludedObject } from './types.js';
import { messageOf } from '../core/error-message.js';

/** Objects that may be left out one by one. */
interface Group<I> {
  readonly names: readonly string[];
  readonly kindOf: (index: number) => string;
  /** The input with the first `count` of them alone. */
  readonly keep: (count: number) => I;
  /** The input without the one at `index`. */
  readonly drop: (index: number) => I;
}

/** With more of them something else is wrong than objects. */
const mostExcluded = 32;

/** What objects may be left out of. */
type Objects = Pick<PackingInput, 'objects' | 'catalogues'>;

interface WithoutExcluded<R> {
  readonly result: R;
  readonly setAside: readonly ExcludedObject[];
}

/** As `withoutAny`, for a run that begins by compiling: that is the cheaper attempt, and what fails there fails in the run. */
export function withoutUnreadable<I extends PackingInput, R>(input: I, run: (input: I) => R): WithoutExcluded<R> {
  return excluding(input, run, compile);
}

/**
 * Gives what `run` makes of the input. Where it throws, the object that makes it throw is found and left out, until it does not
 * throw any more; each costs about log2(objects) attempts. Throws what `run` throws where no single object is to blame. `first` is a cheaper part
 * of `run`.
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
      const { kind, name, without } = found;
      setAside.push({ kind, name, error: messageOf(error) });
      current = without;
    }
  }
}

/**
 * Groups are emptied one after the other until nothing throws any more: the last one emptied holds a culprit, found by halving
 * while those before it stay empty. So culprits of several kinds are found one by one.
 */
function culpritOf<I extends Objects>(
  input: I,
  run: (input: I) => unknown,
  first: (input: I) => unknown,
): { readonly kind: string; readonly name: string; readonly without: I } | undefined {
  const probe = throws(first, input) ? first : run;
  const whole = groupsOf(input);
  let reduced = input;
  for (const [at, { kindOf, names, drop }] of whole.entries()) {
    const { keep } = groupsOf(reduced)[at]!;
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
    return { kind: kindOf(good), name: names[good]!, without: drop(good) };
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
 * The most likely first: what users write without anybody's review. Types before the pools that buy them, and what is read for each pool
 * alone before pools: without any it would harm nobody, and the pools would be blamed.
 */
function groupsOf<I extends Objects>(input: I): readonly Group<I>[] {
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
    listGroup('Pod', pending, (kept) => withObjects({ pods: [...bound, ...kept] })),
    typesGroup(input),
    listGroup('NodeOverlay', nodeOverlays, (kept) => withObjects({ nodeOverlays: kept })),
    listGroup('DisruptionPolicy', disruptionPolicies, (kept) => withObjects({ disruptionPolicies: kept })),
    listGroup('NodePool', nodePools, (kept) => withObjects({ nodePools: kept })),
    ...Object.entries(lists).map(([kind, list]) =>
      listGroup(kind, list as readonly KubernetesObject[], (kept) => withObjects({ [kind]: kept })),
    ),
    // A node goes with its pods: without them it would look empty.
    listGroup('Node', nodes, (kept) => {
      const names = new Set(kept.map(nameOf));
      const isGone = (node: string): boolean => known.has(node) && !names.has(node);
      return withObjects({ nodes: kept, pods: pods.filter((pod) => !isGone(pod.spec.nodeName ?? '')) });
    }),
    listGroup('NodeClaim', nodeClaims, (kept) => withObjects({ nodeClaims: kept })),
  ];
}

const isBound = ({ spec }: Pod): boolean => (spec.nodeName ?? '') !== '';

function listGroup<I, T extends KubernetesObject>(
  kind: string,
  list: readonly T[],
  withList: (kept: readonly T[]) => I,
): Group<I> {
  return {
    kindOf: (index) => list[index]?.kind ?? kind,
    names: list.map(({ metadata }) =>
      metadata.namespace === undefined ? (metadata.name ?? '') : `${metadata.namespace}/${metadata.name ?? ''}`,
    ),
    keep: (count) => withList(list.slice(0, count)),
    drop: (index) => withList(list.filter((_, i) => i !== index)),
  };
}

/** Instance types by name, whichever pools may launch them. */
function typesGroup<I extends Objects>(input: I): Group<I> {
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
