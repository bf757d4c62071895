import type { LabelSelector } from '../../api/kubernetes.js';
import { lookUp } from '../../core/own.js';
type Labels = Readonly<Record<string, string>>;

/** With more keys than this it is faster to iterate over the pod's labels. */
const fewKeys = 64;

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(keys: readonly string[]): ReadonlySet<string> {
  let set = sets.get(keys);
  if (set === undefined) sets.set(keys, (set = new Set(keys)));
  return set;
}

/** A key that is equal for equal labels, if the list of keys is the same. */
export function labelText(labels: Labels, keys: readonly string[]): string {
  let text = '';
  if (keys.length <= fewKeys) {
    for (const key of keys) text += `|${lookUp(labels, key) ?? '\0'}`;
    return text;
  }
  const counting = setOf(keys);
  for (const key of Object.keys(labels).sort()) if (counting.has(key)) text += `|${key}=${lookUp(labels, key)!}`;
  return text;
}

/** Whether both have the same labels under these keys. */
export function hasSameLabels(a: Labels | undefined, b: Labels | undefined, keys: readonly string[]): boolean {
  if (keys.length <= fewKeys) {
    for (const key of keys) if (lookUp(a, key) !== lookUp(b, key)) return false;
    return true;
  }
  const counting = setOf(keys);
  for (const key in a) if (lookUp(a, key) !== lookUp(b, key) && counting.has(key)) return false;
  for (const key in b) if (lookUp(a, key) === undefined && counting.has(key)) return false;
  return true;
}

/** The label keys that a selector refers to. */
export function selectorKeys(selector: LabelSelector | undefined, into: Set<string>): void {
  if (selector?.matchLabels !== undefined) for (const key in selector.matchLabels) into.add(key);
  if (selector?.matchExpressions !== undefined) for (const { key } of selector.matchExpressions) into.add(key);
}
