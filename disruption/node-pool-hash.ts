import type { NodePool } from '../api/karpenter/node-pool.js';
import { canonicalJson, hashText } from '../core/hash.js';

/**
 * Version of `nodePoolHash`. It differs from Karpenter's own (`v3`) on purpose: hashes of different versions are never
 * compared, they are rewritten (section 1.1), so taking over a cluster, or giving it back, drifts no node.
 */
export const nodePoolHashVersion = 'stowage-v1';

/** Hash of what makes a node drift when its pool's template changes (section 1.1): all but the requirements. */
export function nodePoolHash({ spec }: NodePool): string {
  const { metadata, spec: template } = spec.template;
  return hashText(canonicalJson(normal({ metadata, spec: { ...template, requirements: undefined } })));
}

/** Lists as sets, and nothing that says nothing. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal).map(canonicalJson).sort();
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, normal(inner)] as const)
    .filter(([, inner]) => !isNothing(inner));
  return Object.fromEntries(entries);
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
