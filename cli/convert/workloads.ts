import { isMap, isScalar, parseDocument, visit } from 'yaml';
import type { Notes } from './notes.js';
import { lookUp } from '../../core/own.js';

const renamed: Readonly<Record<string, string>> = {
  'karpenter.sh/do-not-evict': 'karpenter.sh/do-not-disrupt',
  'karpenter.sh/do-not-consolidate': 'karpenter.sh/do-not-disrupt',
  'karpenter.sh/provisioner-name': 'karpenter.sh/nodepool',
};

/** Fields whose value is a label key. */
const namingFields: ReadonlySet<unknown> = new Set(['key', 'topologyKey']);

/** Whether a text may contain a renamed key. */
export function namesOldKeys(text: string): boolean {
  return Object.keys(renamed).some((key) => text.includes(key));
}

/** Renames Karpenter's old annotations and labels in any other object. Comments and formatting are kept. */
export function renameKeys(text: string, notes: Notes): string {
  const document = parseDocument(text);
  visit(document, {
    Pair(_, { key, value }, path) {
      if (!isScalar(key)) return;
      const now = lookUp(renamed, String(key.value));
      const holder = path.at(-1);
      if (now !== undefined && isMap(holder)) {
        notes.changed('', `${String(key.value)} becomes ${now}`);
        if (holder.has(now)) holder.delete(key.value);
        else key.value = now;
      } else if (namingFields.has(key.value) && isScalar(value) && lookUp(renamed, String(value.value)) !== undefined) {
        notes.changed('', `${String(value.value)} becomes ${lookUp(renamed, String(value.value)) ?? ''}`);
        value.value = lookUp(renamed, String(value.value));
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}
