import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const product = /^(activities|api|cli|cloud|cluster|core|disruption|kube|operator|packing|process|worker|workflows)\//;
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts'], { encoding: 'utf8' });
const sources = listed.split('\n').filter((path) => product.test(path) && !/\.(test|d)\.ts$/.test(path));
const exported = /^export (?:abstract |async |declare )*(?:class|const|enum|function\*?|interface|type) (\w+)/gm;

/** Files by the names that they export themselves. */
const byName = new Map<string, string[]>();
for (const path of sources)
  for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(exported))
    byName.set(name, [...new Set([...(byName.get(name) ?? []), path])]);

/** What Temporal's SDK looks for by name. */
const meanOneThing = ['interceptors'];

// A reader of an import knows by the name alone which file exports it.
test('each name is exported by one file', () => {
  expect(byName.size).toBeGreaterThan(1500);
  const twice = [...byName].filter(([name, paths]) => paths.length > 1 && !meanOneThing.includes(name));
  expect(Object.fromEntries(twice)).toEqual({});
});

test('every exception for a shared name is needed', () => {
  expect(meanOneThing.filter((name) => (byName.get(name) ?? []).length < 2)).toEqual([]);
});
