// Installs the parts of the local stack once into the user's cache folder, from the projects' own releases where their checksums are pinned
// (prebuilt.json) and they can be downloaded, and from Go, PyPI and Maven packages otherwise.
// Plain JavaScript on Node's built-ins alone: it runs on a fresh clone before `npm ci`.
//
//   node tools/stack/install.mjs [--tests] [--installed] [--no-compile] [--json] [COMPONENT ...]
//
// --tests: what `npm run test:all` needs besides the local stack. --installed: takes what is there, and installs nothing. --no-compile: installs
// only what can be downloaded.
// Progress goes to stderr; with --json the paths go to stdout. Each component is built beside its final folder
// and renamed into place, so a half-finished install is never taken for whole.
import { createHash } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterParts, kubernetesFlags, kubernetesVersion } from './cluster-parts.mjs';
import { composeParts } from './compose-parts.mjs';
import { containerParts } from './container-parts.mjs';
import { karpenterParts } from './karpenter-parts.mjs';
import { pinsFor } from './prebuilt.mjs';
import { signalParts } from './signal-parts.mjs';
import { archiveClasses, testServerScript } from './temporal/test-server.mjs';

const here = dirname(fileURLToPath(import.meta.url));

/** A failure whose message says what to do; printed without a stack. */
export class InstallError extends Error {
  name = 'InstallError';
}

const stamp = (...parts) => createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 10);
const source = (name) => readFileSync(join(here, name), 'utf8');
const platform = `${process.platform}-${process.arch}`;

/** Where the stack is installed: `$XDG_CACHE_HOME/stowage`, by default `~/.cache/stowage`. */
function cacheFolder() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stowage');
}

// ---- prerequisites ---------------------------------------------------------------------------------------------

function versionOf(command, args, pattern) {
  const result = spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, GOTOOLCHAIN: 'local' } });
  if (result.error || result.status !== 0) return undefined;
  return pattern.exec(`${result.stdout}${result.stderr}`)?.[1];
}

function atLeast(version, wanted) {
  const have = version.split('.').map(Number);
  for (const [index, part] of wanted.split('.').map(Number).entries()) {
    if ((have[index] ?? 0) !== part) return (have[index] ?? 0) > part;
  }
  return true;
}

const python = () => process.env.PYTHON || 'python3';
const requirements = {
  node: {
    wanted: '20.19',
    what: 'Node.js',
    find: () => process.versions.node,
    get: 'https://nodejs.org/, or your system’s package manager',
  },
  go: {
    wanted: '1.26',
    what: 'Go',
    find: () => versionOf('go', ['version'], /go version go(\d+(?:\.\d+)+)/),
    get: 'https://go.dev/dl/',
  },
  python: {
    wanted: '3.10',
    what: 'Python 3 with venv',
    find: () => versionOf(python(), ['-c', 'import ensurepip, venv, sys; print(sys.version)'], /^(\d+\.\d+\.\d+)/),
    get: 'your system’s packages (on Debian and Ubuntu: apt install python3 python3-venv), or set PYTHON to one',
  },
  java: {
    wanted: '11',
    what: 'Java',
    find: () => versionOf('java', ['-version'], /version "(\d+(?:\.\d+)*)/),
    get: 'your system’s packages (on Debian and Ubuntu: apt install openjdk-17-jre-headless)',
  },
  maven: {
    wanted: '3.6',
    what: 'Maven',
    find: () => versionOf('mvn', ['--version'], /Apache Maven (\d+(?:\.\d+)+)/),
    get: 'your system’s packages (on Debian and Ubuntu: apt install maven)',
  },
  apt: {
    wanted: '2',
    what: 'apt-get',
    find: () => versionOf('apt-get', ['--version'], /^apt (\d+(?:\.\d+)+)/),
    get: 'nowhere: it comes with Debian and Ubuntu',
  },
  debootstrap: {
    wanted: '1',
    what: 'debootstrap',
    find: () => versionOf('debootstrap', ['--version'], /debootstrap (\d+(?:\.\d+)+)/),
    get: 'your system’s packages (on Debian and Ubuntu: apt install debootstrap)',
  },
};

/** Throws one InstallError that lists every missing prerequisite, with where to get it. */
export function checkPrerequisites(names) {
  const missing = [];
  for (const name of names) {
    const { wanted, what, find, get } = requirements[name];
    const found = find();
    if (found === undefined) missing.push(`  ${what} ${wanted} or newer was not found. Get it from ${get}.`);
    else if (!atLeast(found, wanted))
      missing.push(`  ${what} is ${found}; ${wanted} or newer is needed. Get it from ${get}.`);
  }
  if (missing.length > 0)
    throw new InstallError(`This machine lacks what the local stack needs:\n${missing.join('\n')}`);
}

// ---- running a step --------------------------------------------------------------------------------------------

const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(0)}s`;

function narrator(quiet) {
  const say = (line) => quiet || process.stderr.write(`${line}\n`);
  return {
    say,
    async step(title, run) {
      const started = Date.now();
      say(`  ${title} ...`);
      const ticker = setInterval(() => say(`  ${title} ... ${seconds(started)}`), 20_000);
      try {
        const result = await run();
        say(`  ${title}: done in ${seconds(started)}`);
        return result;
      } finally {
        clearInterval(ticker);
      }
    },
  };
}

/** Runs a command; on failure throws an InstallError with the end of its output and the hint. */
function run(command, args, { cwd, env, hint } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let tail = '';
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
      tail = (tail + chunk).slice(-4000);
    });
    child.stderr.on('data', (chunk) => (tail = (tail + chunk).slice(-4000)));
    child.on('error', (error) => reject(new InstallError(`${command}: ${error.message}. ${hint ?? ''}`)));
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(stdout);
      const shown = tail.trimEnd().split('\n').slice(-15).join('\n    ');
      reject(
        new InstallError(
          `\`${[command, ...args].join(' ')}\` failed (${signal ?? `exit status ${code}`}):\n    ${shown}\n  ${hint ?? ''}`,
        ),
      );
    });
  });
}

// ---- components ------------------------------------------------------------------------------------------------

const goHint =
  'If a download failed, check the network (and GOPROXY, if you set it) and run the same command again: finished parts are kept.';
const goEnv = { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '' };

const compiles = !process.argv.includes('--no-compile');
/** Asked before something is compiled. */
function checkCompiler(names) {
  if (!compiles) throw new InstallError('It would have to be compiled, and --no-compile was given.');
  checkPrerequisites(names);
}

const pinned = JSON.parse(source('prebuilt.json'));
const go = { env: goEnv, hint: goHint };
const kubernetesModule = join(here, 'kubernetes');

const components = {
  ...clusterParts({
    ...{ run, stamp, platform, go, checkPrerequisites: checkCompiler },
    module: kubernetesModule,
    pins: (name) => pinsFor(pinned, name, platform),
  }),

  moto: {
    needs: ['python'],
    beside: true,
    version: () => {
      // Without an interpreter it counts as not installed, and the check says what is missing.
      const interpreter = versionOf(python(), ['--version'], /Python (\d+\.\d+)/) ?? 'none';
      return `py${interpreter}-${stamp('1', platform, interpreter, source('moto/requirements.txt'))}`;
    },
    async install(folder, { step }) {
      const hint = 'If a download failed, check the network (and pip’s settings) and run the same command again.';
      await step('installing moto into a virtual environment', async () => {
        await run(python(), ['-m', 'venv', join(folder, 'venv')], { hint });
        const pip = [
          join(folder, 'venv/bin/python'),
          ['-m', 'pip', '--disable-pip-version-check', 'install', '--quiet'],
        ];
        await run(pip[0], [...pip[1], '--requirement', join(here, 'moto/requirements.txt')], { hint });
      });
    },
    // Scripts inside a virtual environment name the folder it was made in, the interpreter does not.
    paths: (folder) => ({ motoPython: join(folder, 'venv/bin/python'), motoAnswers: join(folder, 'answers') }),
  },

  'temporal-test-server': {
    needs: ['java', 'maven'],
    version: () => stamp('1', source('temporal/pom.xml'), source('temporal/test-server.mjs')),
    async install(folder, { step }) {
      const hint = 'If a download failed, check the network (and Maven’s settings.xml) and run the same command again.';
      const work = join(folder, 'project');
      mkdirSync(work, { recursive: true });
      cpSync(join(here, 'temporal/pom.xml'), join(work, 'pom.xml'));
      await step('downloading Temporal’s time-skipping test server', () =>
        run(
          'mvn',
          [
            '-B',
            '-q',
            '-f',
            join(work, 'pom.xml'),
            'dependency:copy-dependencies',
            `-DoutputDirectory=${join(folder, 'lib')}`,
          ],
          { hint },
        ),
      );
      rmSync(work, { recursive: true });
      const script = join(folder, 'temporal-test-server');
      writeFileSync(script, testServerScript(readdirSync(join(folder, 'lib')).sort()));
      chmodSync(script, 0o755);
      await step('preparing its classes, so that it starts at once', () => archiveClasses(folder, script));
    },
    paths: (folder) => ({ temporalTestServer: join(folder, 'temporal-test-server') }),
  },

  ...signalParts({ run, stamp, platform }),

  ...karpenterParts({ run, stamp, platform, go }),

  ...containerParts({
    run,
    stamp,
    platform,
    go,
    kubernetes: { version: kubernetesVersion, ldflags: kubernetesFlags(), module: kubernetesModule },
  }),

  ...composeParts({
    run,
    stamp,
    platform,
    go,
    sources: join(here, 'docker-compose'),
  }),
};

const stackComponents = ['kubernetes', 'temporal', 'moto'];
/** Without these, tests count as skipped. */
const optionalComponents = ['prometheus'];

// ---- one install at a time -------------------------------------------------------------------------------------

function holderOf(lock) {
  try {
    return Number(readFileSync(lock, 'utf8').split('\n')[0]) || undefined;
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function tryLock(lock) {
  try {
    writeFileSync(lock, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

/** Removes the lock of a process that died. A lock that is being written counts as held for its first seconds. */
function breakStale(lock) {
  const holder = holderOf(lock);
  if (holder !== undefined && isAlive(holder)) return;
  try {
    if (holder === undefined && Date.now() - statSync(lock).mtimeMs < 5000) return;
    // Renamed first: of two that find the lock stale, one wins, and a fresh lock is not removed by the other.
    const aside = `${lock}.stale-${process.pid}`;
    renameSync(lock, aside);
    if (holderOf(aside) === holder) unlinkSync(aside);
    else renameSync(aside, lock);
  } catch {
    // Someone else removed it.
  }
}

async function withLock(lock, say, body) {
  let said = false;
  while (!tryLock(lock)) {
    breakStale(lock);
    if (!said) say(`  waiting for process ${holderOf(lock) ?? '?'} that is installing the same (${lock})`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  try {
    return await body();
  } finally {
    rmSync(lock, { force: true });
  }
}

// ---- entry -----------------------------------------------------------------------------------------------------

/**
 * Installs what is missing of the named components and returns the paths of all their programs.
 * Safe to call from several processes at once; seconds fast when everything is there.
 * Throws InstallError, whose message says what failed and what to do.
 */
export async function install(names = stackComponents, { quiet = false } = {}) {
  const cache = cacheFolder();
  const narrate = narrator(quiet);
  for (const name of names) if (!(name in components)) throw new InstallError(`There is no component "${name}".`);
  const located = [];
  const needed = new Set(['node']);
  for (const name of names) {
    const folder = join(cache, `${name}-${components[name].version()}`);
    located.push({ name, folder });
    if (!existsSync(folder)) for (const need of components[name].needs) needed.add(need);
    else if (name === 'temporal-test-server') needed.add('java');
  }
  checkPrerequisites(needed);
  const missing = located.filter(({ folder }) => !existsSync(folder));
  if (missing.length > 0) {
    const started = Date.now();
    mkdirSync(cache, { recursive: true });
    narrate.say(
      `Installing ${missing.map(({ name }) => name).join(', ')} into ${cache} (once; later runs and clones reuse it)`,
    );
    const ways = await installAll(missing, cache, narrate);
    narrate.say(`Installed in ${seconds(started)}${ways.length > 0 ? ` (${ways.join(', ')})` : ''}.`);
  }
  return Object.assign({}, ...located.map(({ name, folder }) => components[name].paths(folder)));
}

/** Gives which way each was installed that has more than one. What is `beside` takes little of the machine: the others do not wait for it. */
async function installAll(missing, cache, narrate) {
  const ways = new Map();
  const lane = async (parts) => {
    for (const { name, folder } of parts) {
      const way = await withLock(join(cache, `${name}.lock`), narrate.say, () => installOne(name, folder, narrate));
      if (way !== undefined) ways.set(name, way);
    }
  };
  const beside = missing.filter(({ name }) => components[name].beside);
  const others = missing.filter(({ name }) => !components[name].beside);
  // What one of them cannot get does not stop the other half-way.
  for (const outcome of await Promise.allSettled([lane(others), lane(beside)])) {
    if (outcome.status === 'rejected') throw outcome.reason;
  }
  return [...ways].map(([name, way]) => `${name} ${way}`);
}

/** Whose folder it is: `temporal-server-...` is none of `temporal`. */
function componentOf(entry) {
  const names = Object.keys(components).filter((name) => entry.startsWith(`${name}-`));
  return names.sort((a, b) => b.length - a.length)[0];
}

/** Gives whether it was downloaded or compiled, of a component that has both ways. */
async function installOne(name, folder, narrate) {
  if (existsSync(folder)) return undefined;
  // Only the lock's holder is here, so any other half-made folder of this component belongs to a dead process.
  for (const entry of readdirSync(dirname(folder))) {
    if (entry.includes('.partial-') && componentOf(entry) === name)
      rmSync(join(dirname(folder), entry), { recursive: true, force: true });
  }
  const partial = `${folder}.partial-${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    const way = await components[name].install(partial, narrate);
    renameSync(partial, folder);
    return way;
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw error;
  }
}

/** The paths of what is there of the named components. */
function installed(names) {
  const folders = names.map((name) => [name, join(cacheFolder(), `${name}-${components[name].version()}`)]);
  const there = folders.filter(([, folder]) => existsSync(folder));
  return Object.assign({}, ...there.map(([name, folder]) => components[name].paths(folder)));
}

async function installOptional(name) {
  try {
    return await install([name]);
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    process.stderr.write(`Without ${name}: ${error.message}\n`);
    return {};
  }
}

async function pathsFor({ named, flags }) {
  if (flags.includes('--installed')) return installed(named);
  const forTests = flags.includes('--tests') && named.length === 0;
  const paths = await install(
    named.length > 0 ? named : [...stackComponents, ...(forTests ? ['temporal-test-server'] : [])],
  );
  for (const name of forTests ? optionalComponents : []) Object.assign(paths, await installOptional(name));
  return paths;
}

async function main() {
  const args = process.argv.slice(2);
  const [flags, named] = [true, false].map((isFlag) => args.filter((arg) => arg.startsWith('--') === isFlag));
  try {
    const paths = await pathsFor({ named, flags });
    if (flags.includes('--json')) process.stdout.write(`${JSON.stringify(paths)}\n`);
  } catch (error) {
    if (!(error instanceof InstallError)) throw error;
    process.stderr.write(`\n${error.message}\n`);
    process.exitCode = 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
