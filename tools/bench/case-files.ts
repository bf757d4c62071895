import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogueEntry, ObjectList } from '../../test/checker/types.js';
import { type Case, type Kind, generate } from '../../test/cases/index.js';

export interface CaseFiles {
  readonly kind: string;
  readonly size: number;
  readonly seed: number;
  readonly objects: string;
  readonly catalogue: string;
  readonly list: ObjectList;
  readonly entries: readonly CatalogueEntry[];
}

export const caseName = ({ kind, size, seed }: { kind: string; size: number; seed: number }): string =>
  `${kind}-${size}-seed${seed}`;

/** Writes a case where both engines can read it: a v1 List, and a catalogue in the KWOK provider's form. */
export function writeCase(folder: string, made: Case): { objects: string; catalogue: string } {
  mkdirSync(folder, { recursive: true });
  const objects = join(folder, 'objects.json');
  const catalogue = join(folder, 'catalogue.json');
  // An object a line keeps large cases within the longest string that JSON.stringify may make.
  const items = made.objects.map((object) => JSON.stringify(object)).join(',\n');
  writeFileSync(objects, `{"apiVersion":"v1","kind":"List","items":[\n${items}\n]}\n`);
  writeFileSync(catalogue, `${JSON.stringify(made.catalogue)}\n`);
  return { objects, catalogue };
}

export function makeCase(folder: string, kind: Kind, size: number, seed: number): CaseFiles {
  const made = generate(kind, size, seed);
  const files = writeCase(join(folder, caseName({ kind, size, seed })), made);
  return { kind, size, seed, ...files, list: { items: made.objects }, entries: made.catalogue };
}
