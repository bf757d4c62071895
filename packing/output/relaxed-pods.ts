import { compareText } from '../../core/compare-text.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { fullName } from '../names.js';
import type { Pod } from '../../api/kubernetes.js';
import type { Member } from '../place/part.js';
import type { NodeState } from '../place/node-states.js';
import type { RelaxedPod } from '../types.js';

interface Placements {
  readonly compiled: Compiled;
  readonly claims: readonly { readonly members: readonly Member[] }[];
  readonly nodes: readonly NodeState[];
}

/** Pods that are placed without some of their preferences, by name (scheduling/relaxation). */
export function relaxedPods({ compiled, claims, nodes }: Placements): RelaxedPod[] {
  const found: RelaxedPod[] = [];
  const add = ({ shape }: PodClass, level: Level, pods: readonly Pod[]): void => {
    const levels = compiled.levelsByShape[shape.index]!;
    const relaxed = levels.indexOf(level);
    if (relaxed <= 0) return;
    for (const pod of pods) found.push({ pod: fullName(pod), preferences: levels.length - 1, relaxed });
  };
  for (const { members } of claims) for (const { podClass, level, pods } of members) add(podClass, level, pods);
  for (const { placed = [] } of nodes) for (const { podClass, rules, pod } of placed) add(podClass, rules.level, [pod]);
  return found.sort((a, b) => compareText(a.pod, b.pod));
}
