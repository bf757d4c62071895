// Which tests Karpenter's suites have: by line, with a digest of the title, which finds a test that has moved.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { linesOf } from './page.mjs';

const opening = /^(\t*)(Describe|DescribeTable|Context|When|It|Entry)\((.*)$/;
const functions = /^func (Test\w+)\(t \*testing\.T\)/;
const quoted = /"((?:[^"\\]|\\.)*)"/;

/** The tests of a Go file, as `[line, digest]`; the title is that of everything around it too. */
export function testsOf(source) {
  const lines = source.split('\n');
  const around = [];
  const found = [];
  lines.forEach((text, i) => {
    const [, tabs, kind, rest] = opening.exec(text) ?? functionOf(text) ?? [];
    if (kind === undefined) return;
    while (around.length > 0 && around.at(-1).depth >= tabs.length) around.pop();
    const title = quoted.exec(rest)?.[1] ?? (quoted.exec(lines[i + 1] ?? '')?.[1] || rest);
    around.push({ depth: tabs.length, title });
    if (kind === 'It' || kind === 'Entry' || kind === 'Test') found.push([i + 1, digest(around)]);
  });
  return found;
}

/** Functions that only start a suite of Ginkgo are no test. */
const functionOf = (text) => {
  const name = functions.exec(text)?.[1];
  return name === undefined ? undefined : [text, '', 'Test', `"${name}"`];
};

const digest = (around) =>
  createHash('sha256')
    .update(around.map(({ title }) => title).join(' > '))
    .digest('hex')
    .slice(0, 8);

/** Every suite below pkg/ of a repository at its HEAD: `{ commit, suites: { path: [[line, digest], ...] } }`. */
export function readUpstream(directory) {
  const git = (...args) =>
    execFileSync('git', ['-C', directory, ...args], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const paths = git('ls-tree', '-r', '--name-only', 'HEAD', 'pkg/')
    .split('\n')
    .filter((path) => path.endsWith('_test.go'));
  const suites = {};
  for (const path of paths) {
    const source = git('show', `HEAD:${path}`);
    const tests = testsOf(
      source.includes('RunSpecs(') ? source.replace(/^func Test\w+\(t \*testing\.T\).*$/gm, '') : source,
    );
    if (tests.length > 0) suites[path] = tests;
  }
  return { commit: git('rev-parse', 'HEAD').trim(), suites };
}

/** How lines that cases name have moved: `{ path, from, to }`; `to` is absent where the test is gone. */
export function movedTests(suites, before, after) {
  return suites.flatMap(({ path, cases }) =>
    cases.flatMap(({ at }) =>
      at
        .flatMap((place) => linesOf(place, before.suites[path] ?? []))
        .flatMap((from) => {
          const digestBefore = before.suites[path]?.find(([line]) => line === from)?.[1];
          const twins = (before.suites[path] ?? []).filter(([, each]) => each === digestBefore);
          const now = (after.suites[path] ?? []).filter(([, each]) => each === digestBefore);
          const to = now[twins.findIndex(([line]) => line === from)]?.[0];
          return to === from ? [] : [{ path, from, ...(to === undefined ? {} : { to }) }];
        }),
    ),
  );
}
