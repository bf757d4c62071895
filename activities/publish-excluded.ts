import { regarding } from '../core/events.js';
import type { ExcludedObject } from '../packing/types.js';
import type { ActivityDeps } from './deps.js';

/** Kinds that get an event; for others there are the log and a finding of operator/stuck. */
const kinds = ['Node', 'NodePool', 'NodeClaim', 'Pod'] as const;
const dedupeMs = 600_000;

/** Publishes on each excluded object that it is excluded, and why. `of`: what excludes it, such as `Planning`. */
export function publishExcluded(
  deps: Pick<ActivityDeps, 'events' | 'log'>,
  of: string,
  all: readonly ExcludedObject[] = [],
): void {
  for (const { kind, name, error } of all) {
    deps.log.error({ kind, name, error }, `${of} cannot work with an object and leaves it out`);
    const known = kinds.find((each) => each === kind);
    if (known === undefined) continue;
    const [last = '', namespace] = name.split('/').reverse();
    deps.events.publish({
      regarding: regarding(known, { name: last, namespace }),
      type: 'Warning',
      reason: 'LeftOut',
      message: `${of} cannot work with it and leaves it out: ${error}`,
      dedupeMs,
      dedupeBy: [kind, name, error],
    });
  }
}

const mostNamed = 5;

/** The excluded objects with their errors, in words; the first few of many. */
export function excludedText(all: readonly ExcludedObject[]): string {
  const texts = all.slice(0, mostNamed).map(({ kind, name, error }) => `${kind} ${name} (${error.slice(0, 200)})`);
  return all.length > mostNamed ? `${texts.join(', ')} and ${all.length - mostNamed} more` : texts.join(', ');
}
