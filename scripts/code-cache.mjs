// node scripts/code-cache.mjs DIST: writes cli/offline.cache of the built cli/offline.cjs there, for offline-code.js to start
// from. Functions are compiled when they first run, hence a rehearsal on small cases of several kinds.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const dist = resolve(process.argv[2]);
const load = (path) => import(pathToFileURL(join(dist, path)).href);
const example = (name) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url));
const { rehearse } = await load('cli/offline-code.js');
const { makeCase } = await load('bench/case-files.js');

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
  const cache = rehearse(({ planOffline, consolidateOffline }) => {
    for (const each of cases) planOffline({ ...each, output: 'json', repeat: 1 });
    planOffline({ ...cases[0], output: 'table', repeat: 1 });
    for (const output of ['json', 'table']) consolidateOffline({ ...cases.at(-1), output });
  });
  writeFileSync(join(dist, 'cli', 'offline.cache'), cache);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
