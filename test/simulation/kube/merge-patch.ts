import { lookUp } from '../../../core/own.js';
/** Applies a JSON merge patch (RFC 7386) to a JSON value; neither is changed, the result may share parts of both. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    // As in JSON, which does not distinguish undefined from absent.
    if (value === undefined) continue;
    if (value === null) Reflect.deleteProperty(merged, key);
    else merged[key] = mergePatch(lookUp(merged, key), value);
  }
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
