import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deaths } from './deaths.js';

let killed: number;
let deaths: Deaths;

beforeEach(() => {
  vi.useFakeTimers();
  killed = 0;
  deaths = new Deaths({
    gatherMs: 3000,
    gatherAtMostMs: 8000,
    quietMs: 15_000,
    onlyJoins: (scenario) => scenario === 'all',
    kill: () => (killed += 1),
  });
});

afterEach(() => {
  vi.useRealTimers();
});

const reaches = (place: string, scenario = 'drift'): boolean => deaths.isLast({ scenario, of: 'launchNode', place });

test('deaths of a worker at points of one moment are one death', () => {
  expect(reaches('a')).toBe(true);
  vi.advanceTimersByTime(2000);
  expect(reaches('b')).toBe(true);
  vi.advanceTimersByTime(2999);
  expect(killed).toBe(0);
  vi.advanceTimersByTime(1);
  expect(killed).toBe(1);
});

test('points reached every few seconds do not delay the death for ever', () => {
  for (const place of ['a', 'b', 'c', 'd']) {
    reaches(place);
    vi.advanceTimersByTime(2000);
  }
  expect(killed).toBe(1);
});

test('a crash point counts once, and not before the process that died runs again for a while', () => {
  reaches('a');
  deaths.died();
  vi.advanceTimersByTime(60_000);
  expect(reaches('b')).toBe(false);
  deaths.revived();
  vi.advanceTimersByTime(14_999);
  expect(reaches('b')).toBe(false);
  vi.advanceTimersByTime(1);
  expect([reaches('a'), reaches('b')]).toEqual([false, true]);
  expect(deaths.reached.map(({ place }) => place)).toEqual(['a', 'b']);
});

test('joining a death in progress begins no new one', () => {
  expect(reaches('a', 'all')).toBe(false);
  reaches('b');
  expect(reaches('a', 'all')).toBe(true);
});

test('nothing dies after the end of the run', () => {
  deaths.end();
  expect(reaches('a')).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(killed).toBe(0);
});
