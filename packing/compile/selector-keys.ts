import type { LabelSelector } from '../../api/kubernetes.js';

/** The label keys that a selector refers to. */
export function selectorKeys(selector: LabelSelector | undefined, into: Set<string>): void {
  if (selector?.matchLabels !== undefined) for (const key in selector.matchLabels) into.add(key);
  if (selector?.matchExpressions !== undefined) for (const { key } of selector.matchExpressions) into.add(key);
}
