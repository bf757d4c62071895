import { describeSettings } from '../process/settings.js';
import { renderTable } from './output/table.js';

/** `stowage settings`: every setting with its flag, variable, default and description. */
export function settingsTable(): string {
  const rows = describeSettings().map(({ name, flag, default: fallback, description }) => [
    flag ?? 'none: a secret',
    name,
    fallback ?? '',
    description,
  ]);
  return `${renderTable(['FLAG', 'VARIABLE', 'DEFAULT', 'MEANING'], rows)}\n`;
}
