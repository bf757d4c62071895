// npm run suite -- mutation: how many mutants of the requirement algebra, of topology, of placing and of consolidation the tests of these leave alive.
// Usage: node tools/test/mutation.mjs [FOLDER|FILE...] [--list] [--beside]   More than a tenth of a folder alive fails.
// --list says what each living mutant is; --beside judges by the tests beside each file alone, which is quick and says how well a file is tested on its own.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { instrument } from './mutation/instrument.mjs';
import { judge } from './mutation/judge.mjs';
import { root } from '../root.mjs';

/** Which tests judge the files of a folder; those of other folders are judged by the tests beside each. */
const judges = {
  'packing/requirements': ['packing/requirements/*.test.ts'],
  'packing/topology': ['packing/topology/*.test.ts'],
  'packing/place': ['packing/{place,refine}/*.test.ts', 'packing/scenarios/!(budget|scale|many-domains).test.ts'],
  'packing/trial': ['packing/trial/*.test.ts', 'disruption/consolidation/*.test.ts'],
  'disruption/consolidation': ['disruption/consolidation/*.test.ts'],
};
const mostAlive = 0.1;

async function main() {
  const options = { list: { type: 'boolean' }, beside: { type: 'boolean' } };
  const { positionals: asked, values } = parseArgs({ options, allowPositionals: true });
  const { list = false, beside = false } = values;
  const groups = new Map();
  for (const each of asked.length > 0 ? asked : Object.keys(judges)) {
    const folder = each.endsWith('.ts') ? dirname(each) : each;
    groups.set(folder, [...(groups.get(folder) ?? []), each]);
  }
  const totals = [];
  for (const [folder, given] of groups) {
    const files = given.includes(folder) ? sourcesIn(folder) : given;
    const tests = (!beside && judges[folder]) || files.map((file) => file.replace(/\.ts$/, '.test.ts'));
    if (!tests.some((test) => test.includes('*') || existsSync(join(root, test)))) {
      throw new Error(`${files.join(', ')}: no test is beside it`);
    }
    const made = await instrument(root, files);
    const alive = await judge(root, made, tests);
    if (list) for (const mutant of alive) printMutant(mutant);
    const rows = files.map((file) => count(file, made.mutants, alive)).filter(({ mutants }) => mutants > 0);
    for (const row of [...rows, total(folder, rows)]) print(row);
    totals.push(total(folder, rows));
  }
  if (totals.length > 1) print(total('all', totals));
  process.exitCode = totals.some(({ alive, mutants }) => alive > mostAlive * mutants) ? 1 : 0;
}

function sourcesIn(folder) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return names.sort().map((name) => `${folder}/${name}`);
}

function printMutant({ file, line, mutator, covered, replacement }) {
  console.log(`${file}:${line} ${mutator}${covered ? '' : ', no test comes here'}: ${replacement}`);
}

function count(file, mutants, alive) {
  const inFile = (mutant) => mutant.file === file;
  return { file, alive: alive.filter(inFile).length, mutants: mutants.filter(inFile).length };
}

function total(file, rows) {
  const sum = (field) => rows.reduce((all, row) => all + row[field], 0);
  return { file, alive: sum('alive'), mutants: sum('mutants') };
}

function print({ file, alive, mutants }) {
  const share = ((100 * alive) / mutants).toFixed(1);
  console.log(
    `${file.padEnd(45)} ${String(alive).padStart(4)} of ${String(mutants).padStart(4)} alive  ${share.padStart(5)}%`,
  );
}

// What it started ends with it.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
await main();
