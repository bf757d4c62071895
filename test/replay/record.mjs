// Records histories from a real server, for test/replay/replay.test.ts: one of each sequence of events, by workflow type.
// Usage, against a stack on which stories were played: TEMPORAL_ADDRESS=host:port node test/replay/record.mjs BUILD-ID
// The live tests do so by themselves with RECORD_HISTORIES=BUILD-ID. RECORD_TYPES (separated by commas) and RECORD_SINCE narrow it
// down. Only histories of the present code belong here; those of an older build stay until no workflow of it runs any more.
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'histories');
const perType = 8;
const longest = 2500;

const [buildId] = process.argv.slice(2);
if (buildId === undefined) throw new Error('which build? node test/replay/record.mjs BUILD-ID');
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const client = new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE ?? 'default' });

const since = process.env.RECORD_SINCE;
const query = since === undefined ? undefined : `StartTime > '${since}'`;
const types = process.env.RECORD_TYPES?.split(',');
const kept = new Map();
for await (const { type, workflowId, runId } of client.workflow.list({ query })) {
  if (types !== undefined && !types.includes(type)) continue;
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const events = history.events ?? [];
  if (events.length > longest) continue;
  const shape = createHash('sha256')
    .update(events.map((event) => event.eventType).join())
    .digest('hex')
    .slice(0, 8);
  const ofType = kept.get(type) ?? recordedBefore(type);
  kept.set(type, ofType);
  if (!ofType.has(shape) && ofType.size < perType) ofType.set(shape, { history });
}
for (const [type, shapes] of kept) {
  const target = join(folder, type, buildId);
  mkdirSync(target, { recursive: true });
  for (const [shape, { history }] of shapes) {
    if (history === undefined) continue;
    const bytes = proto.temporal.api.history.v1.History.encode(scrub(history)).finish();
    writeFileSync(join(target, `${shape}.bin.gz`), gzipSync(bytes, { level: 9 }));
  }
}
const counts = Object.fromEntries(
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => [
      name,
      readdirSync(join(folder, name), { recursive: true }).filter((file) => file.endsWith('.gz')).length,
    ])
    .sort(),
);
writeFileSync(join(folder, 'expected-counts.json'), `${JSON.stringify(counts, null, 2)}\n`);
console.log(counts);
await connection.close();

/** The shapes that this build has on record already. */
function recordedBefore(type) {
  const target = join(folder, type, buildId);
  if (!existsSync(target)) return new Map();
  return new Map(readdirSync(target).map((file) => [file.replace('.bin.gz', ''), {}]));
}

/** Nothing of the machine that it was recorded on. Changes the history in place: it is ours. */
function scrub(value) {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'stackTrace') value[key] = '';
    else if (key === 'identity') value[key] = 'recorded';
    else scrub(inner);
  }
  return value;
}
