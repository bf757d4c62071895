import { crons, durations, entries, field, many, type CrdRow, type Patch } from './crd-case-helpers.js';

const kind = 'DisruptionPolicy';

const nodeCounts = {
  accepts: ['0', '5', '999999', '0%', '10%', '100%'],
  refuses: ['101%', '-1', 'all', '', '1000000'],
};
const percents = { accepts: [0, 15, 100], refuses: [-1, 101] };

/** Reasons of one list's entries. */
function reasonsRow(list: string, entry: object): CrdRow {
  const reasons = (value: unknown): Patch => ({ [`spec.${list}`]: [{ ...entry, reasons: value }] });
  return {
    kind,
    rule: `${list}: reasons`,
    accepts: [reasons(['Underutilized', 'Empty', 'Drifted', 'Expired', 'Unhealthy']), reasons([]), reasons(undefined)],
    refuses: [reasons(['Interrupted']), reasons(['Empty', 'Empty']), reasons(many(6, () => 'Empty'))],
  };
}

/** One field of one list's entries. */
function entryRow(
  list: string,
  entry: object,
  name: string,
  values: { accepts: readonly unknown[]; refuses: readonly unknown[] },
): CrdRow {
  const patch = (value: unknown): Patch => ({ [`spec.${list}`]: [{ ...entry, [name]: value }] });
  return { kind, rule: `${list}: ${name}`, accepts: values.accepts.map(patch), refuses: values.refuses.map(patch) };
}

const window = { name: 'nights', schedule: '0 22 * * *', duration: '8h' };
const expression = { key: 'team', operator: 'In', values: ['red'] };

const selectorRows: CrdRow[] = [
  field(kind, 'spec.nodePoolSelector', {
    accepts: [
      {},
      { matchLabels: { team: 'red' } },
      { matchExpressions: many(100, () => expression) },
      ...[
        { key: 'team', operator: 'Exists' },
        { key: 'team', operator: 'DoesNotExist', values: [] },
        { key: 'team', operator: 'NotIn', values: many(100, (index) => `v${index}`) },
      ].map((each) => ({ matchExpressions: [each] })),
    ],
    refuses: [
      { matchLabels: { team: 'a b' } },
      { matchLabels: { team: 'a'.repeat(64) } },
      { matchExpressions: many(101, () => expression) },
      ...[
        { operator: 'Exists' },
        { key: 'team' },
        { key: '', operator: 'Exists' },
        { key: `a${'b'.repeat(317)}`, operator: 'Exists' },
        { key: 'team', operator: 'Gt', values: ['1'] },
        { key: 'team', operator: 'In' },
        { key: 'team', operator: 'NotIn', values: [] },
        { key: 'team', operator: 'Exists', values: ['red'] },
        { key: 'team', operator: 'In', values: ['a b'] },
        { key: 'team', operator: 'In', values: ['a'.repeat(64)] },
        { key: 'team', operator: 'In', values: many(101, (index) => `v${index}`) },
      ].map((each) => ({ matchExpressions: [each] })),
    ],
  }),
  field(kind, 'spec.weight', { accepts: [1, 100], refuses: [0, 101] }),
];

const consentRows: CrdRow[] = [
  field(kind, 'spec.mode', { accepts: ['Act', 'Recommend'], refuses: ['DryRun', ''] }),
  field(kind, 'spec.approval', { accepts: [[], [{}], many(16, () => ({}))], refuses: [many(17, () => ({}))] }),
  reasonsRow('approval', {}),
  entryRow('approval', {}, 'timeout', durations),
  entryRow('approval', {}, 'onTimeout', { accepts: ['Approve', 'Reject'], refuses: ['Ask'] }),
];

const windowRows: CrdRow[] = [
  field(kind, 'spec.maintenanceWindows', {
    accepts: [[], many(32, (index) => ({ ...window, name: `window-${index}` }))],
    refuses: [many(33, (index) => ({ ...window, name: `window-${index}` })), [window, window]],
  }),
  reasonsRow('maintenanceWindows', window),
  entryRow('maintenanceWindows', window, 'name', {
    accepts: ['a', 'a'.repeat(63)],
    refuses: ['', 'a'.repeat(64), undefined],
  }),
  entryRow('maintenanceWindows', window, 'timeZone', {
    accepts: [
      'UTC',
      'Europe/Berlin',
      'America/Port-au-Prince',
      'America/Argentina/Buenos_Aires',
      'Etc/GMT+5',
      'EST5EDT',
    ],
    refuses: ['', '/Berlin', 'Europe/', 'Europe Berlin', '+02:00', `Europe/${'a'.repeat(58)}`],
  }),
  entryRow('maintenanceWindows', window, 'schedule', {
    accepts: crons.accepts,
    refuses: [...crons.refuses, `${'0'.repeat(250)} 0 * * *`, undefined],
  }),
  entryRow('maintenanceWindows', window, 'duration', { ...durations, refuses: [...durations.refuses, undefined] }),
  entryRow('maintenanceWindows', window, 'quota', nodeCounts),
  field(kind, 'spec.rates', {
    accepts: [[], many(16, () => ({ nodes: '10%', per: '5m' }))],
    refuses: [many(17, () => ({ nodes: '10%', per: '5m' }))],
  }),
  reasonsRow('rates', { nodes: '10%', per: '5m' }),
  entryRow('rates', { per: '5m' }, 'nodes', { ...nodeCounts, refuses: [...nodeCounts.refuses, undefined] }),
  entryRow('rates', { nodes: '10%' }, 'per', { ...durations, refuses: [...durations.refuses, undefined] }),
];

const savingRows: CrdRow[] = [
  field(kind, 'spec.savings.minimumPercent', percents),
  field(kind, 'spec.savings.minimumDollarsPerHour', {
    accepts: ['0', '0.05', '12'],
    refuses: ['', '-1', '.5', '$1', '1e3', 1],
  }),
  field(kind, 'spec.nodeCost', { accepts: ['0', '0.05', '12'], refuses: ['', '-1', '.5', '$1', '1e3', 1] }),
  field(kind, 'spec.coolDown', durations),
  field(kind, 'spec.maxMoveChain', { accepts: [1, 100], refuses: [0, 101] }),
  field(kind, 'spec.spotRatio', {
    accepts: [
      { spotPercent: 70 },
      { spotPercent: 0, minimumOnDemandVCPU: 16, perZone: true },
      { spotPercent: 100, minimumOnDemandVCPU: 1_000_000 },
    ],
    refuses: [
      {},
      { spotPercent: -1 },
      { spotPercent: 101 },
      { spotPercent: 70, minimumOnDemandVCPU: -1 },
      { spotPercent: 70, minimumOnDemandVCPU: 1_000_001 },
    ],
  }),
  field(kind, 'spec.rebalanceRecommendation', { accepts: ['Ignore', 'Replace'], refuses: ['Drain'] }),
];

const expirationRows: CrdRow[] = [
  field(kind, 'spec.expiration.mode', { accepts: ['ReplaceFirst', 'Forceful'], refuses: ['Never'] }),
  field(kind, 'spec.expiration.jitter', durations),
  field(kind, 'spec.expiration.lead', durations),
  field(kind, 'spec.expiration.hardDeadline', durations),
  {
    kind,
    rule: 'a forceful expiration has no hard deadline',
    accepts: [{ 'spec.expiration': { mode: 'ReplaceFirst', hardDeadline: '24h' } }],
    refuses: [{ 'spec.expiration': { mode: 'Forceful', hardDeadline: '24h' } }],
  },
  field(kind, 'spec.driftRollout', { accepts: [{}], refuses: ['waves'] }),
  field(kind, 'spec.driftRollout.canary', nodeCounts),
  field(kind, 'spec.driftRollout.soak', durations),
  field(kind, 'spec.driftRollout.growthFactor', { accepts: [1, 10], refuses: [0, 11] }),
  field(kind, 'spec.driftRollout.maximumWave', nodeCounts),
  field(kind, 'spec.driftRollout.maximumFailurePercent', percents),
  field(kind, 'spec.driftRollout.onFailure', { accepts: ['Stop', 'Rollback'], refuses: ['Ignore'] }),
];

const ladderRows: CrdRow[] = [
  field(kind, 'spec.drainEscalation', {
    accepts: [[], many(8, () => ({ after: '10m', action: 'Notify' }))],
    refuses: [many(9, () => ({ after: '10m', action: 'Notify' }))],
  }),
  entryRow('drainEscalation', { action: 'Notify' }, 'after', {
    ...durations,
    refuses: [...durations.refuses, undefined],
  }),
  entryRow('drainEscalation', { after: '10m' }, 'action', {
    accepts: ['Notify', 'RestartOwner', 'AskApproval', 'Force'],
    refuses: ['Wait', undefined],
  }),
  field(kind, 'spec.repair.steps', {
    accepts: [[{ action: 'Reboot' }, { action: 'Replace' }, { action: 'Force' }]],
    refuses: [
      [],
      [{ action: 'Reboot' }, { action: 'Reboot' }],
      many(4, () => ({ action: 'Reboot' })),
      [{}],
      [{ action: 'Pray' }],
    ],
  }),
  field(kind, 'spec.repair.steps[0]', {
    accepts: durations.accepts.map((wait) => ({ action: 'Reboot', wait })),
    refuses: durations.refuses.map((wait) => ({ action: 'Reboot', wait })),
  }),
  field(kind, 'spec.repair.maximumUnhealthyPercent', percents),
];

export const disruptionPolicyRows: readonly CrdRow[] = [
  { kind, rule: 'spec', accepts: [{}, { 'metadata.labels': entries(3) }], refuses: [{ spec: undefined }] },
  ...selectorRows,
  ...consentRows,
  ...windowRows,
  ...savingRows,
  ...expirationRows,
  ...ladderRows,
];
