import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../../devstack/paths.js';

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

/** Makes an earlier build of Stowage in `folder`, with the packages of this one. Gives its revision; undefined where there is no history to make it from. */
export async function makeEarlierBuild(folder: string): Promise<string | undefined> {
  const revision = await earlierRevision();
  if (revision === undefined) return undefined;
  mkdirSync(folder);
  const archive = join(folder, 'source.tar');
  try {
    await run('git', ['archive', '--output', archive, revision], { cwd: repositoryRoot() });
  } catch {
    // A shallow clone has no earlier commit.
    return undefined;
  }
  await run('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(repositoryRoot(), 'node_modules'), join(folder, 'node_modules'));
  await run(process.execPath, ['scripts/build.mjs'], { cwd: folder });
  return revision;
}
