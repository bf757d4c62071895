import type { Pod, PodAffinityTerm, PodSpec, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compile, type Compiled } from '../../packing/compile/compiled.js';
import type { PodClass } from '../../packing/compile/classes.js';
import { nodeStates, type NodeState } from '../../packing/place/node-states.js';
import { Groups } from '../../packing/topology/groups.js';
import { TopologyCounts } from '../../packing/topology/topology-counts.js';
import { RuleBook, type Rules } from '../../packing/topology/rules.js';
import { Namespaces } from '../../packing/topology/selectors.js';
import type { PackingInput } from '../../packing/types.js';

/** What topology knows of a pass before anything is counted or placed. */
export interface Topology {
  readonly compiled: Compiled;
  readonly groups: Groups;
  readonly book: RuleBook;
  readonly nodes: readonly NodeState[];
  readonly topologyCounts: TopologyCounts;
  /** The rules of the class of this pod, on the given level; the first one, with all its preferences, by default. */
  readonly rulesOf: (pod: Pod, level?: number) => Rules;
}

/** A required spread of `app: web` over zones, or as said. */
export const spreads = (
  spread: Partial<TopologySpreadConstraint> = {},
): Pick<PodSpec, 'topologySpreadConstraints'> => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: labels.zone,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
      ...spread,
    },
  ],
});

const required = (app: string, topologyKey: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey, labelSelector: { matchLabels: { app } } } satisfies PodAffinityTerm,
  ],
});

/** Required affinity to the pods of this app, within a zone or as said. */
export const near = (app: string, topologyKey: string = labels.zone): Pick<PodSpec, 'affinity'> => ({
  affinity: { podAffinity: required(app, topologyKey) },
});

/** Required anti-affinity to the pods of this app, within a zone or as said. */
export const apart = (app: string, topologyKey: string = labels.zone): Pick<PodSpec, 'affinity'> => ({
  affinity: { podAntiAffinity: required(app, topologyKey) },
});

export function topologyOf(input: PackingInput): Topology {
  const compiled = compile(input);
  const groups = new Groups(compiled.labelKeys, new Namespaces(input.objects.namespaces, ['default']));
  const book = new RuleBook(groups, compiled);
  const nodes = nodeStates(compiled);
  const classOf = (pod: Pod): PodClass => compiled.classes.all.find(({ pods }) => pods.includes(pod))!;
  return {
    compiled,
    groups,
    book,
    nodes,
    topologyCounts: new TopologyCounts(compiled, nodes),
    rulesOf: (pod, level = 0) => {
      const { shape } = classOf(pod);
      return book.of(shape, compiled.levelsByShape[shape.index]!.at(level)!);
    },
  };
}
