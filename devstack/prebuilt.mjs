// Programs as their projects publish them: each from its release page, by a checksum that is pinned in prebuilt.json. Plain JavaScript on
// Node's built-ins alone.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

/** A server that says nothing for so long is given up. */
const silenceMs = 20_000;

/** Reads on as long as something comes. */
async function* watched(chunks, hash, signal) {
  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => signal.abort(new Error(`nothing came for ${silenceMs / 1000} s`)), silenceMs);
  };
  wait();
  try {
    for await (const chunk of chunks) {
      wait();
      hash.update(chunk);
      yield chunk;
    }
  } finally {
    clearTimeout(timer);
  }
}

async function fetchInto(url, file) {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new Error(`no answer for ${silenceMs / 1000} s`)), silenceMs);
  const response = await fetch(url, { signal: silent.signal }).finally(() => clearTimeout(timer));
  if (!response.ok) throw new Error(`answered ${response.status} ${response.statusText}`);
  const hash = createHash('sha256');
  await pipeline(watched(Readable.fromWeb(response.body), hash, silent), createWriteStream(file));
  return hash.digest('hex');
}

/** Downloads one program into `bin`; rejects, and leaves nothing, unless it is the one that is pinned. */
export async function download({ name, url, sha256, member }, bin) {
  await mkdir(bin, { recursive: true });
  const partial = join(bin, `.${name}.partial`);
  try {
    const found = await fetchInto(url, partial);
    if (found !== sha256) throw new Error(`its SHA-256 is ${found}; ${sha256} is pinned`);
    if (member === undefined) await rename(partial, join(bin, name));
    else {
      await promisify(execFile)('tar', ['-xzf', partial, '-C', bin, member]);
      if (member !== name) await rename(join(bin, member), join(bin, name));
    }
    await chmod(join(bin, name), 0o755);
  } catch (error) {
    throw new Error(`${url}: ${error.cause?.message ?? error.message}`, { cause: error });
  } finally {
    await rm(partial, { force: true });
  }
}

/**
 * Makes a component's programs in `bin` the shortest way that there is: downloads where all of them are pinned for this platform and can
 * be had, compiles otherwise. Says why it compiles what could have been downloaded. Gives which way it was.
 */
export async function downloadOrCompile({ pins, bin, step, say, compile }) {
  if (pins !== undefined) {
    try {
      for (const pin of pins) await step(`downloading ${pin.name}`, () => download(pin, bin));
      return 'downloaded';
    } catch (error) {
      say(`  cannot be downloaded, compiling instead: ${error.message}`);
      await rm(bin, { recursive: true, force: true });
    }
  }
  await compile();
  return 'compiled';
}
