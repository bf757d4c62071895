import { labelAliases } from '../api/labels.js';
import { lookUp } from './own.js';

/** The current name of a label key (labels/aliases). */
export function normaliseKey(key: string): string {
  return lookUp(labelAliases, key) ?? key;
}
