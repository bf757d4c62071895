/** No object of Kubernetes is nested that deep, and each level takes stack of whatever walks it. */
export const deepestLevel = 200;

/**
 * Deletes fields that are null: in Kubernetes such a field is absent. Entries of lists stay. Whether the value is nested no deeper than an object of
 * Kubernetes; what is deeper stays as it is.
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
