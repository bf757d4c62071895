import FakeTimers, { type Clock } from '@sinonjs/fake-timers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Deaths } from './deaths.js';

let clock: Clock;
let killed: number;
let deaths: Deaths;

beforeEach(() => {
  clock = FakeTimers.install({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
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
  clock.uninstall();
});

const reaches = (place: string, scenario = 'drift'): boolean => deaths.isLast({ scenario, of: 'launchNode', place });

test('deaths of a worker at points of one moment are one death', () => {
  expect(reaches('a')).toBe(true);
  clock.tick(2000);
  expect(reaches('b')).toBe(true);
  clock.tick(2999);
  expect(killed).toBe(0);
  clock.tick(1);
  expect(killed).toBe(1);
});

test('points reached every few seconds do not delay the death for ever', () => {
  for (const place of ['a', 'b', 'c', 'd']) {
    reaches(place);
    clock.tick(2000);
  }
  expect(killed).toBe(1);
});

test('a crash point counts once, and not before the process that died runs again for a while', () => {
  reaches('a');
  deaths.died();
  clock.tick(60_000);
  expect(reaches('b')).toBe(false);
  deaths.revived();
  clock.tick(14_999);
  expect(reaches('b')).toBe(false);
  clock.tick(1);
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
  clock.tick(60_000);
  expect(killed).toBe(0);
});
