// The recorded histories: histories/TYPE/VERSION/SHAPE.bin.gz, where the shape is a digest of the sequence of events. A version is that of
// the release whose code recorded them. Histories of an older release stay until no workflow of it runs any more.
import proto from '@temporalio/proto';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, 'histories');
/** Shapes of a type and version that say something; more of them only take time. */
const mostShapes = 8;

const { History } = proto.temporal.api.history.v1;

/** The version of this source. */
export const currentVersion = () => JSON.parse(readFileSync(join(here, '../../package.json'), 'utf8')).version;

/** Types with recorded histories. */
export const recordedTypes = () =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** The histories of a type, with the version that each is of. */
export function recordedHistories(type) {
  return versionsOf(type).flatMap((version) =>
    shapesOf(type, version).map((shape) => {
      const bytes = gunzipSync(readFileSync(join(folder, type, version, `${shape}.bin.gz`)));
      return { version, shape, history: History.decode(bytes) };
    }),
  );
}

export const versionsOf = (type) => (existsSync(join(folder, type)) ? readdirSync(join(folder, type)) : []);

const shapesOf = (type, version) => {
  const target = join(folder, type, version);
  return existsSync(target) ? readdirSync(target).map((file) => file.replace('.bin.gz', '')) : [];
};

/**
 * Keeps a history unless its shape is kept already, or enough shapes of its type are; whole runs up to continue-as-new are kept beyond
 * that number. Changes the history: nothing of the machine that it was recorded on stays, and its first event names the workflow, which
 * the server that skips time leaves out.
 */
export function keepHistory(type, version, history, workflowId) {
  const events = history.events ?? [];
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  if (started == null) throw new Error(`the history of ${workflowId} does not begin with WorkflowExecutionStarted`);
  started.workflowId ||= workflowId;
  const shape = createHash('sha256')
    .update(events.map((event) => event.eventType).join())
    .digest('hex')
    .slice(0, 8);
  const kept = shapesOf(type, version);
  const isWholeRun = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes != null;
  if (kept.includes(shape) || (kept.length >= mostShapes && !isWholeRun)) return false;
  const target = join(folder, type, version);
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, `${shape}.bin.gz`), gzipSync(History.encode(scrub(history)).finish(), { level: 9 }));
  return true;
}

/** So many of each type, so that none is lost unseen. */
export function writeCounts() {
  const counts = Object.fromEntries(
    recordedTypes()
      .sort()
      .map((type) => [type, versionsOf(type).flatMap((version) => shapesOf(type, version)).length]),
  );
  writeFileSync(join(folder, 'expected-counts.json'), `${JSON.stringify(counts, null, 2)}\n`);
  return counts;
}

export const expectedCounts = () => JSON.parse(readFileSync(join(folder, 'expected-counts.json'), 'utf8'));

function scrub(value) {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'stackTrace') value[key] = '';
    else if (key === 'identity') value[key] = 'recorded';
    else scrub(inner);
  }
  return value;
}
