// What a source is checked by: itself and all that it imports, however far.
import { dirname, join, normalize } from 'node:path';

const imports = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/**
 * Each source with the sources of the project that its types may depend on, itself first. `texts`: path from the root to text. A path that an
 * import names is looked for as it is, and as TypeScript's `.ts` and `.mts`; whatever is no source of the project is left out.
 *
 * @type {(texts: ReadonlyMap<string, string>) => Map<string, string[]>}
 */
export function closuresOf(texts) {
  const direct = new Map([...texts].map(([path, text]) => [path, importsOf(path, text, texts)]));
  return new Map([...texts.keys()].map((path) => [path, reachedFrom(path, direct)]));
}

function importsOf(path, text, texts) {
  const found = [...text.matchAll(imports)].flatMap(([, name]) => {
    const file = normalize(join(dirname(path), name));
    return [file, file.replace(/\.js$/, '.ts'), file.replace(/\.mjs$/, '.mts'), file.replace(/\.mjs$/, '.d.mts')];
  });
  return [...new Set(found)].filter((file) => texts.has(file));
}

function reachedFrom(path, direct) {
  const reached = new Set([path]);
  for (const file of reached) for (const next of direct.get(file) ?? []) reached.add(next);
  return [...reached];
}
