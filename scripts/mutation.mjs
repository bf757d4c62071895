// npm run mutation: how many mutants of the requirement algebra, of topology, of placing and of consolidation the tests of these leave alive.
// Usage: node scripts/mutation.mjs [FOLDER|FILE...]   More than a tenth of a folder alive fails.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const report = join(root, 'reports/mutation/mutation.json');

/** Which tests judge the files of a folder; those of other folders are judged by the tests beside each. */
const judges = {
  'packing/requirements': undefined,
  'packing/topology': undefined,
  'packing/place': ['packing/scenarios/*.test.ts', 'packing/refine/*.test.ts', 'packing/place/*.test.ts'],
  'packing/trial': ['packing/trial/*.test.ts', 'disruption/consolidation/*.test.ts'],
  'disruption/consolidation': ['disruption/consolidation/*.test.ts'],
};
const mostAlive = 0.1;

function main() {
  const asked = process.argv.slice(2);
  const files = (asked.length > 0 ? asked : Object.keys(judges)).flatMap((each) =>
    each.endsWith('.ts') ? [each] : sourcesIn(each),
  );
  const groups = new Map();
  let failed = false;
  for (const file of files) {
    const counts = mutate(file);
    if (counts === undefined) failed = true;
    else if (counts.mutants > 0) groups.set(dirname(file), [...(groups.get(dirname(file)) ?? []), { file, ...counts }]);
  }
  const all = [...groups].flatMap(([folder, rows]) => [...rows, total(folder, rows)]);
  if (groups.size > 1) all.push(total('all', [...groups.values()].flat()));
  for (const { file, alive, mutants } of all) {
    const share = ((100 * alive) / mutants).toFixed(1);
    console.log(
      `${file.padEnd(40)} ${String(alive).padStart(4)} of ${String(mutants).padStart(4)} alive  ${share.padStart(5)}%`,
    );
  }
  const tooMany = [...groups].some(([folder, rows]) => {
    const { alive, mutants } = total(folder, rows);
    return alive > mostAlive * mutants;
  });
  process.exitCode = failed || tooMany ? 1 : 0;
}

function sourcesIn(folder) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return names.sort().map((name) => `${folder}/${name}`);
}

/** Mutates one file. Mutants that no test covers count as alive; those that do not end, as killed. Undefined: it could not be judged. */
function mutate(file) {
  const tests = judges[dirname(file)] ?? [file.replace(/\.ts$/, '.test.ts')];
  if (!tests.some((test) => test.includes('*') || existsSync(join(root, test)))) {
    console.error(`${file}: no test is beside it`);
    return undefined;
  }
  rmSync(report, { force: true });
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run', '--mutate', file],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, MUTATION_TESTS: tests.join(',') },
    },
  );
  if (status !== 0) return undefined;
  // Files of types alone have nothing to mutate.
  if (!existsSync(report)) return { alive: 0, mutants: 0 };
  const mutants = Object.values(JSON.parse(readFileSync(report, 'utf8')).files).flatMap((each) => each.mutants);
  const judged = mutants.filter((mutant) => !['CompileError', 'RuntimeError', 'Ignored'].includes(mutant.status));
  const alive = judged.filter((mutant) => mutant.status === 'Survived' || mutant.status === 'NoCoverage');
  return { alive: alive.length, mutants: judged.length };
}

function total(name, rows) {
  const sum = (field) => rows.reduce((all, row) => all + row[field], 0);
  return { file: name, alive: sum('alive'), mutants: sum('mutants') };
}

main();
