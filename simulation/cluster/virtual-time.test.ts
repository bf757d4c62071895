import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualTime } from './virtual-time.js';

const startMs = Date.parse('2026-01-05T12:00:00Z');

describe('virtual time', () => {
  let time: VirtualTime;

  beforeEach(() => void (time = new VirtualTime(startMs, () => 0)));

  afterEach(() => time.restore());

  it('is what every clock of the process goes by', async () => {
    const before = performance.now();

    await time.advance(startMs + 60_000);

    expect(Date.now()).toBe(startMs + 60_000);
    expect(performance.now() - before).toBe(60_000);
  });

  it('ends signals that are to time out, then and not before', async () => {
    const signal = AbortSignal.timeout(5000);

    await time.advance(startMs + 4999);
    expect(signal.aborted).toBe(false);

    await time.advance(startMs + 5000);
    expect(signal.aborted).toBe(true);
    expect((signal.reason as Error).name).toBe('TimeoutError');
  });
});
