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

test('one death is that of all points that are reached one after another', () => {
  expect(reaches('a')).toBe(true);
  vi.advanceTimersByTime(2000);
  expect(reaches('b')).toBe(true);
  vi.advanceTimersByTime(2999);
  expect(killed).toBe(0);
  vi.advanceTimersByTime(1);
  expect(killed).toBe(1);
});

test('but not for ever', () => {
  for (const place of ['a', 'b', 'c', 'd']) {
    reaches(place);
    vi.advanceTimersByTime(2000);
  }
  expect(killed).toBe(1);
});

test('a point is one once, and none before who died is up and had time to go on', () => {
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

test('what only joins begins no death', () => {
  expect(reaches('a', 'all')).toBe(false);
  reaches('b');
  expect(reaches('a', 'all')).toBe(true);
});

test('nothing dies any more once it is over', () => {
  deaths.end();
  expect(reaches('a')).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(killed).toBe(0);
});
