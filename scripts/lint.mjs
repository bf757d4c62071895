// npm run lint: ESLint on every source, but those that passed it before and import, however far, what they did then: rules that ask for types
// see no more than that. What passed is kept in the user's cache folder; STOWAGE_CHECKED=false lints all.
import { relative } from 'node:path';
import { ESLint } from 'eslint';
import { closuresOf } from './checks/closures.mjs';
import { checkUnknown, keyOf } from './checks/passed.mjs';
import { filesOfClone, textOf } from './checks/sources.mjs';
import { root } from './test/root.mjs';

const sources = filesOfClone().filter((file) => /\.(ts|mts|mjs)$/.test(file) && !file.includes('/testdata/'));
const texts = new Map(sources.map((file) => [file, textOf(file)]));
// What every result depends on: packages, configuration, rules of our own, types that nobody imports.
const rules = sources.filter(
  (file) => file === 'eslint.config.mjs' || file.startsWith('scripts/lint/') || /\.d\.m?ts$/.test(file),
);
const common = keyOf(
  process.version,
  ...['package-lock.json', 'tsconfig.json', ...rules].flatMap((file) => [file, textOf(file)]),
);
const hashes = new Map([...texts].map(([file, text]) => [file, keyOf(file, text)]));
const closures = closuresOf(texts);
const keys = new Map(sources.map((file) => [file, keyOf(common, ...closures.get(file).map((one) => hashes.get(one)))]));

const allPass = await checkUnknown('lint', keys, async (unknown) => {
  const eslint = new ESLint({ cwd: root, warnIgnored: false });
  const results = await eslint.lintFiles(unknown);
  const found = results.filter(({ errorCount, warningCount }) => errorCount + warningCount > 0);
  if (found.length > 0) console.error(await (await eslint.loadFormatter('stylish')).format(results));
  return found.map(({ filePath }) => relative(root, filePath));
});
process.exitCode = allPass ? 0 : 1;
