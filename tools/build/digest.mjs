// What a build comes from, in one text: two that share it come out the same.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** SHA-256 of the files' contents and of their names from `root`, and of the Node that compiles code ahead: V8 takes no code cache that was made under other flags. */
export function digestOf(root, files) {
  const hash = createHash('sha256').update(`${process.version} ${process.arch} ${process.env.NODE_OPTIONS ?? ''}`);
  for (const file of files.toSorted()) {
    const content = readFileSync(file);
    hash.update(`\0${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}
