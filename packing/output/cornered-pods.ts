import type { PodClass } from '../compile/classes.js';
import type { Compiled } from '../compile/compiled.js';
import type { Feasibility } from '../place/feasibility.js';
import type { OpenClaim } from '../place/open-claim.js';

/** One node in this many more makes no difference. */
const fewNodes = 20;

interface Planned {
  readonly podClass: PodClass;
  readonly demand: Float64Array;
  /** Rows of the plan's nodes that could hold a pod of the class if they were empty. */
  readonly rows: ReadonlySet<number>;
}

/**
 * The classes whose pods must be nominated to their nodes (provisioning/nominated-pods). Pods of another class can take
 * their places, and either have places that these lack or are smaller, so that these pods find no room once such pods
 * are on each node. If at most one more node in twenty makes up for that, there are none.
 */
export function corneredClasses(
  { compiled, feasibility }: { readonly compiled: Compiled; readonly feasibility: Feasibility },
  claims: readonly OpenClaim[],
): ReadonlySet<PodClass> {
  const classes = new Set(claims.flatMap(({ members }) => members.map(({ podClass }) => podClass)));
  if (claims.length < 2 || classes.size < 2) return new Set();
  const rows = [...new Set(claims.map(({ row }) => row))];
  const planned = [...classes].map((podClass): Planned => {
    const demand = feasibility.demand(podClass);
    const holding = new Set(
      feasibility.profiles(podClass.shape, compiled.levelsByShape[podClass.shape.index]!.at(-1)!),
    );
    const isHeldBy = (row: number): boolean => {
      const { profile } = compiled.universe.rows[row]!;
      return holding.has(profile) && fits(compiled, row, demand);
    };
    return { podClass, demand, rows: new Set(rows.filter(isHeldBy)) };
  });
  const nodesOf = new Map<number, number>();
  for (const { row } of claims) nodesOf.set(row, (nodesOf.get(row) ?? 0) + 1);
  const nodesIn = (some: readonly number[]): number => some.reduce((sum, row) => sum + nodesOf.get(row)!, 0);
  const isCorneredBy = (one: Planned, other: Planned): boolean => {
    const shared = [...one.rows].some((row) => other.rows.has(row));
    const own = nodesIn([...one.rows]);
    const elsewhere = nodesIn([...other.rows].filter((row) => !one.rows.has(row)));
    return shared && (elsewhere * fewNodes >= own || (own <= fewNodes && isSmaller(other, one)));
  };
  const isCornered = (one: Planned): boolean => planned.some((other) => other !== one && isCorneredBy(one, other));
  return new Set(planned.filter(isCornered).map(({ podClass }) => podClass));
}

function fits({ universe, offers }: Compiled, row: number, demand: Float64Array): boolean {
  const { rows, capacity } = offers.of(universe.rows[row]!.profile);
  const at = rows.indexOf(row) * demand.length;
  return at < 0 || demand.every((amount, d) => amount <= capacity[at + d]!);
}

const isSmaller = (one: Planned, { demand }: Planned): boolean => one.demand.some((amount, d) => amount < demand[d]!);
