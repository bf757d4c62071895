import type { ExcludedObject } from '../../packing/types.js';
import { counted } from '../../core/text.js';

const shown = 10;

/** Objects that could not be read and were left out. */
export function excludedObjectsText(objects: readonly ExcludedObject[] = []): string {
  if (objects.length === 0) return '';
  const lines = objects.slice(0, shown).map(({ kind, name, error }) => `  ${kind} ${name}: ${error}`);
  if (objects.length > shown) lines.push(`  ... and ${objects.length - shown} more; -o json lists them all`);
  return `${counted(objects.length, 'object')} left out, which the engine cannot work with\n${lines.join('\n')}`;
}
