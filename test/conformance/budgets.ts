import type { Budget } from '../../api/karpenter/node-pool.js';
import { allowance } from '../../disruption/budgets/budgets.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';

type Reason = 'Empty' | 'Underutilized' | 'Drifted';
const reasons: readonly Reason[] = ['Empty', 'Underutilized', 'Drifted'];
const always = { schedule: '* * * * *', duration: '1h' };
const never = { schedule: '@yearly', duration: '1h' };
const june = Date.UTC(2000, 5, 15, 12, 30, 30);

/** Six budgets, of which the last is closed. */
const six: readonly Budget[] = [
  { nodes: '10', ...always },
  { nodes: '100', ...always },
  { nodes: '100%', ...always },
  { nodes: '15', reasons: ['Drifted', 'Underutilized'], ...always },
  { nodes: '5', reasons: ['Drifted'], ...always },
  { nodes: '0', reasons: ['Underutilized', 'Drifted', 'Empty'], schedule: '@weekly', duration: '1h' },
];
const withChanged = (changes: Readonly<Record<number, Partial<Budget>>>): Budget[] =>
  six.map((each, i) => ({ ...each, ...changes[i] }));
/** Of a hundred nodes. */
const allows = (budgets: readonly Budget[], expected: readonly [number, number, number]): Check =>
  gives(
    () => reasons.map((reason) => allowance(budgets, reason, { total: 100, disrupting: 0 }, june).allowed),
    expected,
  );
/** Whether a budget of none is open. */
const open = (window: Partial<Budget>, now: number, expected: boolean): Check =>
  gives(
    () => allowance([{ nodes: '0', ...window }], 'Empty', { total: 100, disrupting: 0 }, now).allowed === 0,
    expected,
  );

export const budgetRuleCases: readonly ConformanceCase[] = about('allowed disruptions by budgets', [
  same(102, 'a budget of 0 for every reason', allows(withChanged({ 5: always }), [0, 0, 0])),
  same(
    113,
    'no budget is open: all nodes',
    allows(
      six.map((each) => ({ ...each, ...never })),
      [100, 100, 100],
    ),
  ),
  same(
    127,
    'budgets by reason outside their schedule: all nodes',
    allows(withChanged({ 3: never, 4: never }), [10, 10, 10]),
  ),
  same(138, 'a budget without reasons applies to all', allows(six.slice(0, 1), [10, 10, 10])),
  same(
    150,
    'the lowest budget for each reason',
    allows([...six, { nodes: '4', reasons: ['Empty'], ...always }], [4, 10, 5]),
  ),
  same(179, 'an invalid schedule: none', allows([{ nodes: '10', schedule: '@wrongly', duration: '1h' }], [0, 0, 0])),
  notApplicable(
    185,
    'a number of nodes that cannot be read',
    'the schema of NodePools refuses it (api/karpenter/node-pool.ts)',
  ),
  same(191, 'a budget outside its schedule does not apply', allows([{ nodes: '10', ...never }], [100, 100, 100])),
  same(198, 'an absolute number', allows([{ nodes: '10', ...always }], [10, 10, 10])),
  same(203, 'a percentage', allows([{ nodes: '100%', ...always }], [100, 100, 100])),
  // Midnight an hour east of UTC is 23:00 in UTC.
  same(211, 'schedules are in UTC', open({ schedule: '@daily', duration: '30m' }, Date.UTC(2000, 4, 30, 23), false)),
  same(221, 'a budget without a schedule always applies', open({}, june, true)),
  same(228, 'a schedule that is open', open(always, june, true)),
  same(233, 'a schedule that is closed', open(never, june, false)),
  same(
    239,
    'in the middle of the duration',
    open({ schedule: '@yearly', duration: '24h' }, Date.UTC(2000, 0, 1, 12), true),
  ),
  same(
    248,
    'a duration longer than the interval',
    open({ schedule: '@daily', duration: '48h' }, Date.UTC(2024, 0, 7), true),
  ),
  same(257, 'after the duration', open({ schedule: '30 6 * * SUN', duration: '6h' }, Date.UTC(2024, 0, 7), false)),
  same(
    266,
    'a reversed range of weekdays is invalid',
    open({ schedule: '0 0 * * tue-mon', duration: '6h' }, Date.UTC(2024, 0, 7), true),
  ),
]);
