import type { LabelSelector } from '../../../api/kubernetes.js';
import { lookUp } from '../../../core/own.js';

/** Reads the text form of label selectors: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. */
export function parseLabelSelector(text: string): LabelSelector {
  const matchExpressions: LabelSelector['matchExpressions'] = [];
  for (const part of text.split(/,(?![^(]*\))/)) {
    const term = part.trim();
    if (term === '') continue;
    const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
    const equality = /^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(term);
    if (set !== null) {
      const values = set[3]!.split(',').map((value) => value.trim());
      matchExpressions.push({ key: set[1]!, operator: set[2] === 'in' ? 'In' : 'NotIn', values });
    } else if (equality !== null) {
      const operator = equality[2] === '!=' ? 'NotIn' : 'In';
      matchExpressions.push({ key: equality[1]!, operator, values: [equality[3]!] });
    } else if (term.startsWith('!')) matchExpressions.push({ key: term.slice(1), operator: 'DoesNotExist' });
    else matchExpressions.push({ key: term, operator: 'Exists' });
  }
  return { matchExpressions };
}

/** Whether an object meets a field selector such as `spec.nodeName=a,status.phase!=Failed`. */
export function matchesFields(selector: string, object: object): boolean {
  return selector.split(',').every((term) => {
    const match = /^([\w.]+)\s*(==|=|!=)\s*(.*)$/.exec(term.trim());
    if (match === null) return term.trim() === '';
    let value: unknown = object;
    for (const field of match[1]!.split('.')) value = lookUp(value as Record<string, unknown> | undefined, field);
    return ((value ?? '') === match[3]) === (match[2] !== '!=');
  });
}
