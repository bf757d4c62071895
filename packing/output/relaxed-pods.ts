import { compareText } from '../../core/text.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import type { Pod } from '../../api/kubernetes.js';
import type { Member } from '../place/part.js';
import type { NodeState } from '../place/node-states.js';
import type { Plan, RelaxedPod } from '../types.js';
import { fullName } from '../../core/names.js';

interface Placements {
  readonly compiled: Compiled;
  readonly claims: readonly { readonly members: readonly Member[] }[];
  readonly nodes: readonly NodeState[];
}

/** Pods that are placed at a later relaxation level than their first, by name (scheduling/relaxation). */
export function relaxedPods({ compiled, claims, nodes }: Placements): RelaxedPod[] {
  const found: RelaxedPod[] = [];
  const add = ({ shape }: PodClass, level: Level, pods: readonly Pod[]): void => {
    const levels = compiled.levelsByShape[shape.index]!;
    const at = levels.indexOf(level);
    if (at <= 0) return;
    // The last level accepts `PreferNoSchedule` taints, which is not a preference of the pod.
    const preferences = levels.length - 1 - (levels[0]!.avoidsPreferred ? 1 : 0);
    const relaxed = Math.min(at, preferences);
    for (const pod of pods) found.push({ pod: fullName(pod), level: at, preferences, relaxed });
  };
  for (const { members } of claims) for (const { podClass, level, pods } of members) add(podClass, level, pods);
  for (const { placed = [] } of nodes) for (const { podClass, rules, pod } of placed) add(podClass, rules.level, [pod]);
  return found.sort((a, b) => compareText(a.pod, b.pod));
}

/** Pods of the plan that are placed without some of their preferences. */
export function podsWithRelaxedPreferences({ relaxed = [] }: Pick<Plan, 'relaxed'>): readonly RelaxedPod[] {
  return relaxed.filter((each) => each.relaxed > 0);
}
