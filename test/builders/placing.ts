import type { Pod } from '../../api/kubernetes.js';
import type { Profile } from '../../packing/compile/universe.js';
import { Assigner } from '../../packing/place/assigner.js';
import { Cells } from '../../packing/place/cells.js';
import { Feasibility } from '../../packing/place/feasibility.js';
import type { PlacementTarget } from '../../packing/place/part.js';
import type { PackingInput } from '../../packing/types.js';
import { topologyOf, type Topology } from './topology.js';

/** What placing works with before anything is placed. */
export interface Placing extends Topology {
  readonly feasibility: Feasibility;
  readonly cells: Cells;
  readonly assigner: Assigner;
  /** What is placed for pods like this one, on its first level or as said. */
  readonly targetOf: (pod: Pod, level?: number) => PlacementTarget;
}

export function placingOf(input: PackingInput): Placing {
  const topology = topologyOf(input);
  const { compiled, nodes, book, topologyCounts, rulesOf } = topology;
  const feasibility = new Feasibility(compiled);
  return {
    ...topology,
    feasibility,
    cells: new Cells(compiled, feasibility, nodes),
    assigner: new Assigner(compiled, feasibility, nodes, book, topologyCounts),
    targetOf: (pod, level = 0) => {
      const podClass = compiled.classes.all.find(({ pods }) => pods.includes(pod))!;
      const rules = rulesOf(pod, level);
      return { podClass, level: rules.level, rules, excluded: new Set<Profile>() };
    },
  };
}

/** `pool/zone/capacity type` of each profile, as far as they are keys of the pass, sorted. */
export const profileNames = (
  profiles: readonly Profile[],
  { compiled }: Pick<Placing, 'compiled'>,
  ...keys: readonly string[]
): string[] =>
  profiles
    .map(({ pool, values }) => [pool.name, ...keys.map((key) => values[compiled.space.find(key)!] ?? '-')].join('/'))
    .sort();
