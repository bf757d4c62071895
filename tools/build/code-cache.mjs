// node tools/build/code-cache.mjs DIST NAME: writes cli/NAME.cache of the built cli/NAME.cjs there, for cli/bundles.js to start from.
// Functions are compiled when they first run, hence a rehearsal: offline on small cases of several kinds, online by loading every command.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const dist = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const example = (name) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

/** Plans and consolidations of small cases. */
async function rehearseOffline() {
  const { rehearse } = await load('cli/bundles.js');
  const { makeCase } = await load('tools/bench/case-files.js');
  const scratch = mkdtempSync(join(tmpdir(), 'stowage-build-'));
  try {
    const made = ['benchmark-mix', 'realistic-nodes', 'generic', 'preferences', 'corner', 'cluster'].map((kind) =>
      makeCase(scratch, kind, kind === 'cluster' ? 10 : 60, 1),
    );
    const cases = [
      { objects: example('cluster.json'), catalogue: example('instance-types.json') },
      ...made.map(({ objects, catalogue }) => ({ objects, catalogue })),
    ].map(({ objects, catalogue }) => ({
      objects: [objects],
      catalogue,
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      spotToSpot: false,
    }));
    return rehearse(({ planOffline, consolidateOffline }) => {
      for (const each of cases) planOffline({ ...each, output: 'json', repeat: 1 });
      planOffline({ ...cases[0], output: 'table', repeat: 1 });
      for (const output of ['json', 'table']) consolidateOffline({ ...cases.at(-1), output });
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function rehearseOnline() {
  const { rehearseOnline: rehearse } = await load('cli/bundles.js');
  return rehearse();
}

const name = process.argv[3];
writeFileSync(join(dist, 'cli', `${name}.cache`), await { offline: rehearseOffline, online: rehearseOnline }[name]());
// What was loaded may keep timers.
process.exit();
