import type { Compiled } from '../compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/ladder.js';
import type { Profile } from '../compile/universe.js';
import type { Rules } from '../topology/rules.js';
import type { Feasibility } from './feasibility.js';
import type { NodeState } from './node-states.js';

/** One combination of domains of the topology keys that concern a class: what exists there, and what could. */
export interface Cell {
  /** Domain by topology key. */
  readonly domains: ReadonlyMap<string, string | undefined>;
  /** What can be launched there for a pod of the class, in the heaviest pools that have any. */
  profiles: readonly Profile[];
  /** Nodes there that admit the class, in the order in which they are tried, and how far they are used up. */
  readonly nodes: NodeState[];
  next: number;
  /** What a pod would cost there if it paid for its share of a new node alone, dollars per hour. */
  price: number;
}

/** Sorts what the class may use into cells, in the order of their domains. */
export function cellsFor(
  compiled: Compiled,
  feasibility: Feasibility,
  nodes: readonly NodeState[],
  target: { readonly podClass: PodClass; readonly level: Level; readonly rules: Rules; without: ReadonlySet<Profile> },
): Cell[] {
  const { podClass, level, rules, without } = target;
  const keys = rules.keys.map((key) => compiled.space.find(key));
  const cells = new Map<string, Cell & { profiles: Profile[] }>();
  const cellOf = (values: readonly (string | undefined)[]): Cell & { profiles: Profile[] } => {
    const own = keys.map((key) => (key === undefined ? undefined : values[key]));
    const text = own.map((value) => value ?? '\0').join('\u0001');
    let cell = cells.get(text);
    if (cell === undefined) {
      const domains = new Map(rules.keys.map((key, i) => [key, own[i]]));
      cells.set(text, (cell = { domains, profiles: [], nodes: [], next: 0, price: Infinity }));
    }
    return cell;
  };
  for (const profile of feasibility.holding(podClass, level)) {
    if (!without.has(profile)) cellOf(profile.values).profiles.push(profile);
  }
  for (const node of nodes) if (feasibility.admitsKind(level, node.kind)) cellOf(node.kind.values).nodes.push(node);
  for (const cell of cells.values()) {
    cell.profiles = feasibility.heaviest(cell.profiles) as Profile[];
    cell.price = Math.min(...cell.profiles.map((profile) => feasibility.share(podClass, profile)));
  }
  return [...cells.keys()].sort().map((text) => cells.get(text)!);
}
