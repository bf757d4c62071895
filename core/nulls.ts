/** No Kubernetes object is nested deeper; limits recursion. */
export const deepestLevel = 200;

/**
 * Deletes null fields: in Kubernetes they count as absent. List entries stay. Returns false if the value is nested
 * deeper than `levels`; the deeper part stays unchanged.
 */
export function dropNulls(value: unknown, levels = deepestLevel): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (levels === 0) return false;
  let isShallow = true;
  for (const [name, inner] of Object.entries(value)) {
    if (inner === null && !Array.isArray(value)) Reflect.deleteProperty(value, name);
    else if (!dropNulls(inner, levels - 1)) isShallow = false;
  }
  return isShallow;
}
