// Which files passed a check before, in this clone or another: a check of what has not changed since says the same again.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** As many as some hundred versions of each file. */
const kept = 200_000;

/** SHA-256 of texts, each apart. */
export function keyOf(...texts) {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest('hex');
}

/** The keys of what passed the check of this name; in the user's cache folder, or as `STOWAGE_CHECKED=false` says not at all. */
export class Passed {
  constructor(name, folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stowage', 'checked')) {
    this.file = process.env.STOWAGE_CHECKED === 'false' ? undefined : join(folder, name);
    this.keys = new Set(this.#read());
  }

  has(key) {
    return this.keys.has(key);
  }

  /** Adds what passed now. Another run may do so at the same time: its keys are lost or kept, and never half a key. */
  add(keys) {
    if (this.file === undefined) return;
    for (const key of keys) this.keys.add(key);
    mkdirSync(dirname(this.file), { recursive: true });
    const half = `${this.file}.${process.pid}`;
    writeFileSync(half, [...this.keys].slice(-kept).join('\n'));
    renameSync(half, this.file);
  }

  #read() {
    try {
      return readFileSync(this.file, 'utf8').split('\n');
    } catch {
      return [];
    }
  }
}

/**
 * Checks the files whose keys have not passed the check of this name, and remembers those that pass. `check` takes paths and gives those that fail.
 * Returns whether all pass.
 */
export async function checkUnknown(name, keys, check) {
  const passed = new Passed(name);
  const unknown = [...keys.keys()].filter((file) => !passed.has(keys.get(file)));
  console.log(`${unknown.length} of ${keys.size} files to check`);
  if (unknown.length === 0) return true;
  const failed = new Set(await check(unknown));
  passed.add(unknown.filter((file) => !failed.has(file)).map((file) => keys.get(file)));
  return failed.size === 0;
}
