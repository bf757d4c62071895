import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../tools/stack/paths.js';

const run = promisify(execFile);

/** Of the last release; where there is none yet, of the code before the last change of a workflow. Undefined where git does not know. */
async function earlierRevision(): Promise<string | undefined> {
  const git = async (...args: string[]): Promise<string> => {
    const { stdout } = await run('git', args, { cwd: repositoryRoot() });
    return stdout.trim();
  };
  try {
    return await git('describe', '--tags', '--abbrev=0', '--match', 'v*');
  } catch {
    return git('log', '-1', '--format=%H~1', '--', 'workflows').catch(() => undefined);
  }
}

interface EarlierBuild {
  readonly revision: string;
  readonly folder: string;
}

/** Of builds that are kept, one by revision and packages: the newest alone. */
const kept = (): string => join(repositoryRoot(), 'node_modules/.cache/stowage-earlier-builds');

/** An earlier build of Stowage with the packages of this one, made once; undefined where there is no history to make it from. */
export async function earlierBuild(): Promise<EarlierBuild | undefined> {
  const revision = await earlierRevision();
  if (revision === undefined) return undefined;
  const packages = readFileSync(join(repositoryRoot(), 'package-lock.json'));
  const by = createHash('sha256').update(`${revision} ${process.version} `).update(packages).digest('hex').slice(0, 16);
  const folder = join(kept(), by);
  if (existsSync(folder)) return { revision, folder };
  mkdirSync(kept(), { recursive: true });
  const others = readdirSync(kept());
  const half = mkdtempSync(`${folder}-`);
  if (!(await makeBuild(revision, half))) {
    rmSync(half, { recursive: true });
    return undefined;
  }
  renameSync(half, folder);
  for (const other of others) rmSync(join(kept(), other), { recursive: true, force: true });
  return { revision, folder };
}

/** Whether it could be made. A shallow clone has no earlier commit. */
async function makeBuild(revision: string, folder: string): Promise<boolean> {
  const archive = join(folder, 'source.tar');
  try {
    await run('git', ['archive', '--output', archive, revision], { cwd: repositoryRoot() });
  } catch {
    return false;
  }
  await run('tar', ['-xf', archive, '-C', folder]);
  rmSync(archive);
  symlinkSync(relative(folder, join(repositoryRoot(), 'node_modules')), join(folder, 'node_modules'));
  await run(process.execPath, ['tools/build/build.mjs'], { cwd: folder });
  return true;
}
