import { existsSync } from 'node:fs';
import type { Invocation } from './described.js';

/** What the commands of a page made so far, so that later ones can use it. */
export interface PageSoFar {
  readonly files: Set<string>;
  readonly deployments: Set<string>;
  readonly chartRepositories: Set<string>;
}

export const newPage = (): PageSoFar => ({ files: new Set(), deployments: new Set(), chartRepositories: new Set() });

/** Names in capitals stand for the reader's own, and so does what the shell puts in. */
export const isPlaceholder = (word: string): boolean => /^[A-Z][A-Z0-9_-]*$/.test(word) || word.includes('$');

/** Files that only the reader can have, as the page around the command says. */
const readers: ReadonlySet<string> = new Set([
  'temporal-values.yaml',
  './api-key',
  'body.json',
  'stowage.db',
  '~/.kube/config',
]);
const readersOwn = /^(old\/|\/etc\/|\/tmp\/)/;

/** Undefined for a file that is there: in the repository, made by a command above, or the reader's own. */
export function problemOfFile(path: string, page: PageSoFar): string | undefined {
  if (path === '-' || isPlaceholder(path) || readers.has(path) || readersOwn.test(path)) return undefined;
  return page.files.has(path) || existsSync(path) ? undefined : `there is no file ${path}`;
}

/** What is wrong with a call, and what it leaves for those after it. */
export type Check = (invocation: Invocation, page: PageSoFar, hereDocument?: string) => readonly (string | undefined)[];
