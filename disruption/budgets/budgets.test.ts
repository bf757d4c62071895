import { describe, expect, test } from '@jest/globals';
import type { Budget } from '../../api/karpenter/node-pool.js';
import { allowance } from './budgets.js';

const monday = Date.parse('2026-01-05T00:00:00Z');
const hour = 3_600_000;
const at = (hours: number): number => monday + hours * hour;
const officeHours: Budget = { nodes: '0', schedule: '0 9 * * mon-fri', duration: '8h' };

describe('allowance: how many nodes budgets allow', () => {
  // Rules `budgets/rounding`, `budgets/not-ready-nodes-count`.
  test.each([
    // Given 10 nodes and budget 30%, then 3 empty nodes go; with one NotReady, then 2.
    ['30%', 10, 0, 3],
    ['30%', 10, 1, 2],
    // Given budget 5% of 10 nodes, then one disruption is allowed.
    ['5%', 10, 0, 1],
    ['0', 10, 0, 0],
    ['0%', 10, 0, 0],
    ['7', 10, 0, 7],
    ['100%', 3, 0, 3],
    ['2', 10, 5, 0],
  ])('budget %s of %d nodes with %d disrupting allows %d', (nodes, total, disrupting, allowed) => {
    expect(allowance([{ nodes }], 'Empty', { total, disrupting }, monday).allowed).toBe(allowed);
  });

  test('without a budget all nodes that are not disrupting are allowed', () => {
    expect(allowance([], 'Empty', { total: 4, disrupting: 1 }, monday)).toEqual({ allowed: 3 });
  });

  // Rule `budgets/allowed-now`.
  test('the strictest budget for the reason applies', () => {
    const budgets: Budget[] = [
      { nodes: '50%' },
      { nodes: '1', reasons: ['Drifted'] },
      { nodes: '3', reasons: ['Empty'] },
    ];

    expect(allowance(budgets, 'Empty', { total: 10, disrupting: 0 }, monday).allowed).toBe(3);
    expect(allowance(budgets, 'Drifted', { total: 10, disrupting: 0 }, monday).allowed).toBe(1);
    expect(allowance(budgets, 'Underutilized', { total: 10, disrupting: 0 }, monday).allowed).toBe(5);
    expect(allowance(budgets, 'Drifted', { total: 10, disrupting: 0 }, monday).ruledBy).toBe('budget 1 for Drifted');
  });

  // Given a cron window closed, then the budget does not bind.
  // Rule `budgets/schedule`.
  test.each([
    ['before it opens', at(8.99), 10, at(9)],
    ['as it opens', at(9), 0, at(17)],
    ['inside', at(12), 0, at(17)],
    ['as it closes', at(17), 10, at(33)],
    ['on Saturday', at(5 * 24 + 10), 10, at(7 * 24 + 9)],
  ])('a schedule from 9 to 17 on weekdays, %s', (_name, now, allowed, changesAt) => {
    expect(allowance([officeHours], 'Empty', { total: 10, disrupting: 0 }, now)).toMatchObject({ allowed, changesAt });
  });

  test('overlapping windows of a schedule count as one', () => {
    const budget: Budget = { nodes: '0', schedule: '@hourly', duration: '90m' };

    const { allowed, changesAt } = allowance([budget], 'Empty', { total: 1, disrupting: 0 }, at(3.2));

    expect(allowed).toBe(0);
    expect(changesAt).toBeGreaterThan(at(60));
  });

  // Rule `budgets/unreadable-schedule`.
  test('an invalid schedule allows nothing', () => {
    const broken: Budget = { nodes: '100%', schedule: 'when it suits', duration: '1h' };

    expect(allowance([broken], 'Empty', { total: 10, disrupting: 0 }, monday).allowed).toBe(0);
  });
});
