import type { Compiled } from './compiled.js';

/** The namespaces of the pods of a pass, waiting and bound. */
export function namespacesOf({ classes, bound }: Compiled): Set<string> {
  const names = new Set(classes.shapes.map(({ namespace }) => namespace));
  for (const pods of bound.values()) for (const { metadata } of pods) names.add(metadata.namespace ?? 'default');
  return names;
}
