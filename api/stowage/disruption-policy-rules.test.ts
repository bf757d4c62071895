import { expect, test } from '@jest/globals';
import { build, type Patch } from '../../test/integration/crd-case-helpers.js';
import { disruptionPolicyIssues } from './disruption-policy-rules.js';
import { disruptionPolicies } from './disruption-policy.js';

const issuesOf = (patch: Patch): [path: string, severity: string][] =>
  disruptionPolicyIssues(disruptionPolicies.mustParse(build('DisruptionPolicy', patch))).map(({ path, severity }) => [
    path,
    severity,
  ]);

const window = { name: 'nights', schedule: '0 22 * * *', duration: '8h' };
const windows = (change: object): Patch => ({
  'spec.maintenanceWindows': [window, { ...window, name: 'b', ...change }],
});
const at = 'spec.maintenanceWindows[1]';

test('a valid DisruptionPolicy has no issues', () => {
  expect(
    issuesOf({
      'spec.maintenanceWindows': [{ ...window, timeZone: 'Europe/Berlin', quota: '5', reasons: ['Drifted'] }],
      'spec.approval': [{ reasons: ['Drifted'] }, {}],
      'spec.rates': [{ nodes: '10%', per: '5m' }],
      'spec.drainEscalation': [
        { after: '10m', action: 'Notify' },
        { after: '10m', action: 'RestartOwner' },
        { after: '1h', action: 'Force' },
      ],
    }),
  ).toEqual([]);
});

test.each<[object, [string, string][]]>([
  [{ schedule: '0 25 * * *' }, [[`${at}.schedule`, 'error']]],
  [{ timeZone: 'Europe/Atlantis' }, [[`${at}.timeZone`, 'error']]],
  [{ duration: '0h0m' }, [[`${at}.duration`, 'error']]],
  [{ quota: '0' }, [[`${at}.quota`, 'warning']]],
  [{ quota: '0%' }, [[`${at}.quota`, 'warning']]],
  [{ quota: '10%' }, []],
])('a maintenance window with %j is refused', (change, expected) => {
  expect(issuesOf(windows(change))).toEqual(expected);
});

test('a rate with a period of zero is refused', () => {
  expect(issuesOf({ 'spec.rates': [{ nodes: '1', per: '0s' }] })).toEqual([['spec.rates[0].per', 'error']]);
});

test('a rate or quota over a longer time than records are kept is refused', () => {
  expect(issuesOf({ 'spec.rates': [{ nodes: '1', per: '745h' }] })).toEqual([['spec.rates[0].per', 'error']]);
  expect(issuesOf(windows({ duration: '745h', quota: '1' }))).toEqual([[`${at}.duration`, 'error']]);
  expect(issuesOf(windows({ duration: '745h' }))).toEqual([]);
});

test('a rate of zero nodes gives a warning', () => {
  expect(issuesOf({ 'spec.rates': [{ nodes: '0%', per: '5m' }] })).toEqual([['spec.rates[0].nodes', 'warning']]);
});

test('an approval for reasons that earlier entries have gives a warning', () => {
  expect(issuesOf({ 'spec.approval': [{}, { reasons: ['Drifted'] }] })).toEqual([['spec.approval[1]', 'warning']]);
  expect(issuesOf({ 'spec.approval': [{ reasons: ['Drifted', 'Empty'] }, { reasons: ['Drifted'] }] })).toEqual([
    ['spec.approval[1]', 'warning'],
  ]);
});

test('drainEscalation steps out of order are refused', () => {
  expect(
    issuesOf({
      'spec.drainEscalation': [
        { after: '1h', action: 'Notify' },
        { after: '59m59s', action: 'Force' },
      ],
    }),
  ).toEqual([['spec.drainEscalation[1].after', 'error']]);
});
