// Programs as their projects publish them: each by a checksum that is pinned in prebuilt.json, with where that was read. Plain JavaScript on
// Node's built-ins alone.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { access, chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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

async function fetchInto(url, file, algorithm) {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new Error(`no answer for ${silenceMs / 1000} s`)), silenceMs);
  const response = await fetch(url, { signal: silent.signal }).finally(() => clearTimeout(timer));
  if (!response.ok) throw new Error(`answered ${response.status} ${response.statusText}`);
  const hash = createHash(algorithm);
  await pipeline(watched(Readable.fromWeb(response.body), hash, silent), createWriteStream(file));
  return hash.digest('hex');
}

const isThere = (file) =>
  access(file).then(
    () => true,
    () => false,
  );

/** Programs are in `bin`; the mode in the archive is ignored. */
async function place(file, folder, destination) {
  const target = join(folder, destination);
  await mkdir(dirname(target), { recursive: true });
  await rename(file, target);
  await chmod(target, dirname(destination) === 'bin' ? 0o755 : 0o644);
}

/** Takes what is wanted out of a tar archive, and nothing else. */
async function unpack(archive, folder, members) {
  const scratch = `${archive}.unpacked`;
  const wanted = Object.keys(members);
  await mkdir(scratch);
  try {
    // -o: files are whose process this is, not whose the archive says.
    const unpacking = promisify(execFile)('tar', ['-xzof', archive, '-C', scratch, ...wanted]);
    const failure = await unpacking.then(
      () => undefined,
      (error) => error,
    );
    const missing = [];
    for (const member of wanted) if (!(await isThere(join(scratch, member)))) missing.push(member);
    if (missing.length > 0) throw new Error(`it holds no ${missing.join(', ')}`, { cause: failure });
    if (failure !== undefined) throw failure;
    for (const [member, destination] of Object.entries(members)) {
      await place(join(scratch, member), folder, destination);
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Downloads what one pin names into `folder`: a file as it is, or members of an archive. Nothing of it is used before the checksum of the
 * whole is right; rejects, and leaves nothing, otherwise.
 */
export async function download({ url, sha256, sha512, to, members }, folder) {
  await mkdir(folder, { recursive: true });
  const partial = join(folder, `.${basename(url)}.partial`);
  const [algorithm, title, pinned] =
    sha512 === undefined ? ['sha256', 'SHA-256', sha256] : ['sha512', 'SHA-512', sha512];
  try {
    const found = await fetchInto(url, partial, algorithm);
    if (found !== pinned) throw new Error(`its ${title} is ${found}; ${pinned} is pinned`);
    await (members === undefined ? place(partial, folder, to) : unpack(partial, folder, members));
  } catch (error) {
    const reason = typeof error.cause?.code === 'string' ? error.cause : error;
    throw new Error(`${url}: ${reason.message}`, { cause: error });
  } finally {
    await rm(partial, { force: true });
  }
}

/**
 * What is downloaded of a component for a platform, such as `linux-arm64`. Undefined where something of it is not published for that platform:
 * then all of it is compiled.
 */
export function pinsFor(pinned, component, platform) {
  const { every = [], [platform]: own } = pinned[component] ?? {};
  return own === undefined ? undefined : [...own, ...every];
}

/**
 * Fills a component's folder the shortest way that there is: downloads where everything is pinned for this platform and can be had, compiles
 * otherwise. Says why it compiles what could have been downloaded. Gives which way it was.
 */
export async function downloadOrCompile({ pins, folder, step, say, compile }) {
  if (pins !== undefined) {
    try {
      for (const pin of pins) await step(`downloading ${basename(pin.url)}`, () => download(pin, folder));
      return 'downloaded';
    } catch (error) {
      say(`  cannot be downloaded, compiling instead: ${error.message}`);
      for (const entry of await readdir(folder)) await rm(join(folder, entry), { recursive: true });
    }
  }
  await compile();
  return 'compiled';
}
