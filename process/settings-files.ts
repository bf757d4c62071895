import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { SettingsError } from './settings.js';
import { parserMessageOf } from '../core/error-message.js';

/** Parses the YAML or JSON file of a setting. Throws `SettingsError` naming setting and file. */
export function readDocument(setting: string, file: string): unknown {
  try {
    return parseSettings(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new SettingsError(`${setting} "${file}": cannot be read: ${parserMessageOf(error)}`);
  }
}

/** A warning of the parser would quote the text, which may be secret. */
export function parseSettings(text: string): unknown {
  return parse(text, { logLevel: 'error' }) as unknown;
}
