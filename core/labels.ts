import type { LabelSelector } from '../api/kubernetes.js';
import { lookUp } from './own.js';
import { labelAliases } from '../api/labels.js';

type Labels = Readonly<Record<string, string>> | undefined;

/** Whether a label selector selects these labels. An absent selector selects nothing, an empty one everything. */
export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  if (matchLabels !== undefined) {
    for (const key in matchLabels) if (lookUp(labels, key) !== lookUp(matchLabels, key)) return false;
  }
  if (matchExpressions === undefined) return true;
  return matchExpressions.every(({ key, operator, values }) => {
    const value = lookUp(labels, key);
    switch (operator) {
      case 'In':
        return value !== undefined && (values ?? []).includes(value);
      case 'NotIn':
        return value === undefined || !(values ?? []).includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
    }
  });
}

/** The current name of a label key (labels/aliases). */
export function normaliseKey(key: string): string {
  return lookUp(labelAliases, key) ?? key;
}
