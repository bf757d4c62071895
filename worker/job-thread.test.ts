import { EventEmitter } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { silentLog, silentMetrics } from '../test/simulation/silent.js';
import type { Consolidation, ConsolidationInput } from '../disruption/consolidation/types.js';
import { JobThread, type JobThreadOptions } from './job-thread.js';
import type { Job } from './packing-jobs.js';

interface Sent {
  readonly kind: string;
  readonly id: number;
  readonly job: Job;
}

/** A thread whose jobs end only when the test says so. */
class FakeWorker extends EventEmitter {
  readonly sent: Sent[] = [];
  ended = false;

  constructor(readonly over: Int32Array) {
    super();
  }

  postMessage(message: Sent): void {
    if (message.kind !== 'job') return;
    this.sent.push(message);
    this.emit('job');
  }

  answer(result: unknown = {}): void {
    this.emit('message', { id: this.sent.at(-1)!.id, part: { kind: 'result', result } });
  }

  terminate(): Promise<number> {
    this.ended = true;
    this.emit('exit', 1);
    return Promise.resolve(1);
  }

  ref = (): void => undefined;
  unref = (): void => undefined;
}

const input = { objects: {}, catalogues: new Map() } as unknown as ConsolidationInput;
const again = { ...input, candidates: ['a'] };

function start(options: Partial<JobThreadOptions> = {}): {
  readonly thread: JobThread;
  readonly workers: FakeWorker[];
  readonly abandoned: string[];
  /** Resolves once so many jobs have been sent to the latest worker. */
  readonly sent: (count: number) => Promise<FakeWorker>;
} {
  const workers: FakeWorker[] = [];
  const abandoned: string[] = [];
  const thread = new JobThread({
    spawn: (over) => {
      const worker = new FakeWorker(over);
      workers.push(worker);
      return worker;
    },
    log: silentLog,
    metrics: { ...silentMetrics, count: (_name, { job }) => void abandoned.push(job!) },
    now: () => 0,
    searchMs: 60_000,
    graceMs: 60_000,
    ...options,
  });
  const sent = async (count: number): Promise<FakeWorker> => {
    while ((workers.at(-1)?.sent.length ?? 0) < count) await new Promise((resolve) => setImmediate(resolve));
    return workers.at(-1)!;
  };
  return { thread, workers, abandoned, sent };
}

describe('JobThread, which runs packing jobs', () => {
  test('runs one job at a time, and a decision that is validated before searches that wait', async () => {
    const { thread, sent } = start();
    const done: string[] = [];
    const note = (name: string) => (): void => void done.push(name);
    const all = [
      thread.run('consolidate', input).then(note('first search')),
      thread.run('consolidate', input).then(note('second search')),
      thread.run('reconsider', again).then(note('validation')),
    ];
    expect(thread.jobs.map(({ job, state }) => `${state} ${job}`)).toEqual([
      'running consolidate',
      'waiting reconsider',
      'waiting consolidate',
    ]);
    for (let n = 1; n <= 3; n++) (await sent(n)).answer();
    await Promise.all(all);
    expect(done).toEqual(['first search', 'validation', 'second search']);
    expect(thread.jobs).toEqual([]);
  });

  test('never begins a waiting job that was cancelled', async () => {
    const { thread, sent, abandoned } = start();
    const first = thread.run('consolidate', input);
    const gone = new AbortController();
    const ghost = thread.run('consolidate', input, { signal: gone.signal });
    const last = thread.run('consolidate', input);
    gone.abort(new Error('the attempt timed out'));
    await expect(ghost).rejects.toThrow('the attempt timed out');
    expect(abandoned).toEqual(['consolidate']);
    (await sent(1)).answer();
    await first;
    (await sent(2)).answer();
    await last;
    expect(thread.load).toBe(0);
  });

  test('cancels a running job, and begins the next when it has ended', async () => {
    const { thread, sent } = start();
    const gone = new AbortController();
    const ghost = thread.run('consolidate', input, { signal: gone.signal });
    const worker = await sent(1);
    const next = thread.run('consolidate', input);
    gone.abort(new Error('cancelled'));
    await expect(ghost).rejects.toThrow('cancelled');
    expect(worker.over[0]).toBeGreaterThan(worker.sent[0]!.id);
    worker.answer();
    const { id } = (await sent(2)).sent[1]!;
    expect(worker.over[0]).toBeLessThanOrEqual(id);
    worker.answer({ commands: [] });
    await expect(next).resolves.toEqual({ commands: [] });
  });

  test('is replaced when a cancelled job does not end', async () => {
    const { thread, workers, sent } = start({ graceMs: 1 });
    const gone = new AbortController();
    const ghost = thread.run('reconsider', again, { signal: gone.signal });
    const worker = await sent(1);
    const next = thread.run('consolidate', input);
    gone.abort(new Error('cancelled'));
    await expect(ghost).rejects.toThrow('cancelled');
    while (!worker.ended) await new Promise((resolve) => setTimeout(resolve, 1));
    while (workers.length < 2) await new Promise((resolve) => setImmediate(resolve));
    (await sent(1)).answer({ commands: [] });
    await expect(next).resolves.toEqual({ commands: [] });
  });

  test('replaces a waiting job by a later attempt of the same activity', async () => {
    const { thread, sent } = start();
    const busy = thread.run('reconsider', again);
    const first = thread.run('consolidate', input, { key: 'disrupt findDisruptions 7' });
    const other = thread.run('consolidate', input, { key: 'disrupt findDisruptions 8' });
    const second = thread.run('consolidate', input, { key: 'disrupt findDisruptions 7' });
    await expect(first).rejects.toThrow('a later attempt asked for the same');
    for (let n = 1; n <= 3; n++) (await sent(n)).answer();
    await Promise.all([busy, other, second]);
  });

  test('fails the running job when the thread dies, and a new thread takes those that wait', async () => {
    const { thread, workers, sent } = start();
    const lost = thread.run('consolidate', input);
    const next = thread.run('consolidate', input);
    const dead = await sent(1);
    dead.emit('error', new Error('out of memory'));
    await expect(lost).rejects.toThrow('out of memory');
    while (workers.length < 2) await new Promise((resolve) => setImmediate(resolve));
    (await sent(1)).answer({ commands: [] });
    await expect(next).resolves.toEqual({ commands: [] });
    // What the dead one may still say is about nothing.
    dead.answer({ commands: ['late'] });
    expect(thread.load).toBe(0);
  });

  test('ends a search that takes too long with its best result', async () => {
    const { thread, sent } = start({ searchMs: 1 });
    const found = thread.run('consolidate', input);
    const worker = await sent(1);
    while (worker.over[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const part: Partial<Consolidation> = { commands: [], cutShort: true };
    worker.answer(part);
    await expect(found).resolves.toEqual(part);
  });

  test('reports what a job waits for, and when it begins', async () => {
    const { thread, sent } = start();
    const notes: string[] = [];
    const first = thread.run('reconsider', again);
    const second = thread.run('consolidate', input, {
      note: (text) => notes.push(text),
      onBegin: () => notes.push('begun'),
    });
    expect(notes).toEqual(['packing queue: 1 job before this one']);
    (await sent(1)).answer();
    await first;
    (await sent(2)).answer();
    await second;
    expect(notes.slice(1)).toEqual(['consolidate on a packing thread', 'begun']);
  });

  test('begins nothing for an attempt that is over, or after the end', async () => {
    const { thread, workers } = start();
    await expect(thread.run('plan', input, { signal: AbortSignal.abort(new Error('over')) })).rejects.toThrow('over');
    expect(workers).toEqual([]);
  });

  test.each([
    [
      'what its asker does when it begins throws',
      {
        onBegin: () => {
          throw new Error('no');
        },
      },
      undefined,
    ],
    ['its answer cannot be read', {}, null],
  ])('fails a job and runs the next where %s', async (_case, asking, part) => {
    const { thread, sent } = start();
    const first = thread.run('plan', input, asking);
    first.catch(() => undefined);
    const second = thread.run('plan', input);
    if (part === null) {
      const worker = await sent(1);
      worker.emit('message', { id: worker.sent.at(-1)!.id, part });
      await sent(2);
    }
    await expect(first).rejects.toThrow();
    (await sent(part === null ? 2 : 1)).answer();
    await expect(second).resolves.toBeDefined();
  });
});
