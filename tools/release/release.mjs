// npm run release -- VERSION: writes the version into all files that have it, moves the unreleased section of CHANGELOG.md to it, commits and tags.
// Pushing the tag is left to a person; .github/workflows/release.yml does the rest, and calls this with
//   --check VERSION: whether all of it says that version
//   --notes VERSION: what CHANGELOG.md says of it
//   --krew VERSION REPOSITORY SHA256: the manifest for krew of the command's archive
//   --pin VALUES REPOSITORY DIGEST: writes the image into the chart's values
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  krewManifest,
  notesOf,
  pinnedValues,
  releasedChangelog,
  versionedChart,
  versionedPackage,
  versionProblem,
} from './version.mjs';
import { root } from '../root.mjs';

const read = (name) => readFileSync(join(root, name), 'utf8');
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

class Refused extends Error {}
const refuse = (why) => {
  throw new Refused(why);
};

const versioned = {
  'package.json': versionedPackage,
  'package-lock.json': versionedPackage,
  'deploy/chart/Chart.yaml': versionedChart,
};

function release(version = '') {
  const problem = versionProblem(version, git('tag', '--list', 'v*', '--sort=-v:refname').split('\n')[0].slice(1));
  if (problem !== undefined) refuse(problem);
  if (git('status', '--porcelain') !== '') refuse('there are changes that are not committed');
  if (git('branch', '--show-current') !== 'main') refuse('releases are made of main');
  if (!notesOf(read('CHANGELOG.md'), 'Unreleased')) refuse('CHANGELOG.md has nothing unreleased');
  for (const [name, write] of Object.entries(versioned)) writeFileSync(join(root, name), write(read(name), version));
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(join(root, 'CHANGELOG.md'), releasedChangelog(read('CHANGELOG.md'), version, date));
  git('commit', '--quiet', '--all', '--message', `chore: release ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', `Stowage ${version}`);
  return `Tagged v${version}. To publish it: git push origin main v${version}`;
}

function check(version) {
  const wrong = Object.entries(versioned).filter(([name, write]) => write(read(name), version) !== read(name));
  if (wrong.length > 0) refuse(`${wrong.map(([name]) => name).join(', ')}: not version ${version}`);
  return notes(version);
}

const notes = (version) => notesOf(read('CHANGELOG.md'), version) || refuse(`CHANGELOG.md says nothing of ${version}`);

function pin(file, repository, digest) {
  writeFileSync(join(root, file), pinnedValues(read(file), repository, digest));
  return `${file}: ${repository}@${digest}`;
}

const krew = (version, repository, sha256) => krewManifest({ version, repository, sha256 });

const orders = { '--check': check, '--krew': krew, '--notes': notes, '--pin': pin };
const [first, ...rest] = process.argv.slice(2);
try {
  const order = Object.hasOwn(orders, first ?? '') ? orders[first] : undefined;
  console.log(order === undefined ? release(first) : order(...rest));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 2;
}
