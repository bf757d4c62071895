import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { statusText } from './output/status-table.js';
import { planOffline } from './plan.js';
import type { StatusReport } from './status-rows.js';

test('the README shows what its command prints', () => {
  const text = planOffline({
    objects: ['examples/cluster.json'],
    catalogue: 'examples/instance-types.json',
    output: 'table',
    repeat: 1,
    preferencePolicy: 'Respect',
    minValuesPolicy: 'Strict',
  });

  expect(readFileSync('README.md', 'utf8')).toContain(text.replace(/, planned in [\d.]+ ms/, ''));
});

test('the README shows a blocked drain and a pause as stowage status prints them', () => {
  const why =
    'pdb/default/web can never allow an eviction: minAvailable 1 asks that 1 of 1 stay healthy (holds default/web-564645df98-mn6r8)';
  const report: StatusReport = {
    ...{ pools: [], claims: [], moreUnderWay: 0, stays: [], moreStay: 0, unread: [], stuck: [], unavailable: [] },
    ...{ refused: [], declined: [], problems: [], unplaced: [], drift: [] },
    pauses: [
      {
        ...{ scope: { kind: 'nodePool', name: 'default' }, reason: 'release week', actor: 'ann' },
        until: Date.parse('2026-11-21T17:51:54Z'),
      },
    ],
    workflows: [
      {
        ...{ workflowId: 'prod/terminate/1', kind: 'terminate', nodePool: 'default', nodeClaim: 'default-6aafe25516' },
        ...{ reason: 'drifted', phase: 'draining', blockedBy: 'pdb/default/web (never)', waitingFor: 'pods to leave' },
        ...{ until: '', startedAt: '2026-11-21T15:51:59.000Z', awaitingApproval: false },
        causes: [why],
        facts: { 'pods left': 1, 'next step': 'Notify at 2026-11-21T15:52:10Z' },
      },
    ],
  };
  const sections = statusText(report).trimEnd().split('\n\n');
  const shown = sections.filter((text) => /^(Needs you|Paused)/.test(text)).join('\n\n');
  expect(readFileSync('README.md', 'utf8')).toContain(`\`\`\`text\n${shown}\n\`\`\``);
});
