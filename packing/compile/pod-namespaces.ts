import type { Compiled } from './compiled.js';

/** The namespaces of all pods of a pass: pending, bound, and of DaemonSets. */
export function namespacesOf({ classes, bound, daemons }: Compiled): Set<string> {
  const names = new Set(classes.shapes.map(({ namespace }) => namespace));
  for (const pods of bound.values()) for (const { metadata } of pods) names.add(metadata.namespace ?? 'default');
  for (const { namespace } of daemons) names.add(namespace);
  return names;
}
