import { describe, expect, test } from '@jest/globals';
import { conditionToRepair, declinedText, tooManyUnhealthy, unhealthyCondition } from './repair.js';
import type { RepairPolicy } from '../../core/conditions.js';

const minute = 60_000;
const start = Date.parse('2026-01-05T12:00:00Z');
const policies: readonly RepairPolicy[] = [
  { conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 30 * minute },
  { conditionType: 'Ready', conditionStatus: 'Unknown', tolerationMs: 30 * minute },
  { conditionType: 'AcceleratedHardwareReady', conditionStatus: 'False', tolerationMs: 10 * minute },
];
type Status = 'True' | 'False' | 'Unknown';
const node = (...conditions: [string, Status, number?][]) => ({
  status: {
    conditions: conditions.map(([type, status, after = 0]) => ({
      type,
      status,
      lastTransitionTime: new Date(start + after * minute).toISOString(),
    })),
  },
});

describe('repair of unhealthy nodes', () => {
  // Rule `repair/policies`.
  test('a healthy node, one without conditions, and conditions without a RepairPolicy need none', () => {
    expect(unhealthyCondition(node(['Ready', 'True'], ['Sunny', 'False']), policies)).toBeUndefined();
    expect(unhealthyCondition({ status: {} }, policies)).toBeUndefined();
    expect(unhealthyCondition(undefined, policies)).toBeUndefined();
    expect(unhealthyCondition(node(['Ready', 'False']), [])).toBeUndefined();
  });

  test.each(['False', 'Unknown'] as const)('Ready %s is tolerated for 30 minutes', (status) => {
    expect(unhealthyCondition(node(['Ready', status]), policies)).toEqual({
      type: 'Ready',
      status,
      since: start,
      dueAt: start + 30 * minute,
    });
  });

  // Rule `repair/earliest-rules`.
  test('of several conditions the one whose toleration ends first applies', () => {
    const both = node(['Ready', 'False', 0], ['AcceleratedHardwareReady', 'False', 15]);
    expect(unhealthyCondition(both, policies)?.type).toBe('AcceleratedHardwareReady');
    const late = node(['Ready', 'False', 0], ['AcceleratedHardwareReady', 'False', 25]);
    expect(unhealthyCondition(late, policies)?.type).toBe('Ready');
  });

  test('a declined condition is not repaired, another condition is (repair/declined)', () => {
    const declined = declinedText('Ready=Unknown', 'rejected by ann');
    expect(conditionToRepair(node(['Ready', 'False']), policies, declined)).toBeUndefined();
    expect(conditionToRepair(node(['Ready', 'False']), policies, undefined)?.type).toBe('Ready');
    const both = node(['Ready', 'False'], ['AcceleratedHardwareReady', 'False', 60]);
    expect(conditionToRepair(both, policies, declined)?.type).toBe('AcceleratedHardwareReady');
  });

  // Given Ready False for 30m and 1 of 3 nodes unhealthy, then repaired; 2 of 3, then blocked.
  // Rule `repair/at-most-a-fifth`.
  test('at most a fifth of a NodePool, rounded up, is repaired at a time', () => {
    const [well, ill] = [node(['Ready', 'True']), node(['Ready', 'False'])];
    expect(tooManyUnhealthy([ill, well, well], policies, 20)).toBeUndefined();
    expect(tooManyUnhealthy([ill, ill, well], policies, 20)).toBe(
      '2 of 3 nodes are unhealthy, and at most 1 (20%) may be',
    );
    expect(tooManyUnhealthy([ill, ill, ...Array<typeof well>(8).fill(well)], policies, 20)).toBeUndefined();
    expect(tooManyUnhealthy([ill], policies, 0)).toMatch(/^1 of 1/);
  });
});
