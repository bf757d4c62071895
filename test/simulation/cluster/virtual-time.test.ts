import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualTime } from './virtual-time.js';

const startMs = Date.parse('2026-01-05T12:00:00Z');

describe('virtual time', () => {
  let time: VirtualTime;

  beforeEach(() => void (time = new VirtualTime(startMs, () => 0)));

  afterEach(() => time.restore());

  it('sets every clock of the process: Date and performance', async () => {
    const before = performance.now();

    await time.advance(startMs + 60_000);

    expect(Date.now()).toBe(startMs + 60_000);
    expect(performance.now() - before).toBe(60_000);
  });

  it('does not advance while event loop turns are still pending', async () => {
    let ended: number | undefined;
    const goOn = (turns: number): void => {
      if (turns === 0) ended = Date.now();
      else setImmediate(() => goOn(turns - 1));
    };
    setTimeout(() => goOn(50), 1000);

    await time.advance(startMs + 60_000);
    expect(ended).toBe(startMs + 1000);

    const own = setImmediate(() => goOn(1));
    clearImmediate(own);
    await time.settle();
    expect(ended).toBe(startMs + 1000);
  });

  it('fires AbortSignal.timeout at its time, and not before', async () => {
    const signal = AbortSignal.timeout(5000);

    await time.advance(startMs + 4999);
    expect(signal.aborted).toBe(false);

    await time.advance(startMs + 5000);
    expect(signal.aborted).toBe(true);
    expect((signal.reason as Error).name).toBe('TimeoutError');
  });
});
