import type { ClaimRow, OfferingRow, PoolRow, StatusReport, WorkflowRow } from '../../operator/status-report.js';
import type { NextWindow } from '../../workflows/messages.js';
import { pauseTable, timeText } from './people-table.js';
import { counted, renderTable } from './table.js';

/** What the cluster has and what Stowage is doing about it, for a person. What waits for one comes first. */
export function statusText(report: StatusReport): string {
  const { pools, claims, workflows, pauses, nextWindow, unavailable } = report;
  const asking = workflows.filter(({ awaitingApproval }) => awaitingApproval);
  const blocked = workflows.filter(({ blockedBy }) => blockedBy !== '');
  const busy = workflows.filter(({ kind }) => !alwaysThere.has(kind));
  const sections = [
    ...(asking.length === 0 ? [] : [section('Wait for approval', asking.map(question).join('\n'))]),
    ...(blocked.length === 0 ? [] : [section('Blocked drains', blocked.map(blockedLine).join('\n'))]),
    ...(pauses.length === 0 ? [] : [section('Paused', pauseTable(pauses))]),
    section('NodePools', pools.length === 0 ? 'none' : poolTable(pools)),
    section('NodeClaims', claims.length === 0 ? 'none' : claimTable(claims)),
    ...(unavailable.length === 0 ? [] : [section('Offerings out of capacity', offeringTable(unavailable))]),
    section('Under way', busy.length === 0 ? 'nothing' : workflowTable(busy)),
    ...(nextWindow === undefined ? [] : [section('Next', nextText(nextWindow))]),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** Entities and timers of every claim: they are news to nobody. */
const alwaysThere: ReadonlySet<string> = new Set(['provision', 'disrupt', 'expire']);

function question({ workflowId, reason, nodeClaim, waitingFor, until }: WorkflowRow): string {
  const end = until === '' ? '' : `, until ${timeText(until)}`;
  return `  ${nodeClaim} (${reason}): ${waitingFor}${end}\n    stowage approve ${workflowId}`;
}

function blockedLine({ nodeClaim, reason, blockedBy, facts, startedAt }: WorkflowRow): string {
  const causes = typeof facts['blocked by'] === 'string' ? facts['blocked by'].split('; ') : [blockedBy];
  const next = facts['next step'];
  const then = typeof next === 'string' && next !== 'none' ? `\n    next: ${next}` : '';
  const head = `  ${nodeClaim} (${reason}), draining since ${timeText(startedAt)}, ${left(facts['pods left'])}`;
  return `${head}\n${causes.map((cause) => `    ${cause}`).join('\n')}${then}`;
}

const left = (pods: WorkflowRow['facts'][string] | undefined): string =>
  typeof pods === 'number' ? `${counted(pods, 'pod')} left` : 'pods left';

function nextText({ at, why, nodePool, reason }: NextWindow): string {
  const whom = [nodePool, reason].filter((text) => text !== undefined).join(', ');
  return `  ${at === undefined ? '' : `${timeText(at)}: `}${why}${whom === '' ? '' : ` (${whom})`}`;
}

const section = (title: string, body: string): string => `${title}\n${body}`;

function poolTable(pools: readonly PoolRow[]): string {
  return renderTable(
    ['NODEPOOL', 'READY', 'NODES', 'MESSAGE'],
    pools.map(({ nodePool, ready, nodes, message }) => [nodePool, ready, nodes, message]),
  );
}

function claimTable(claims: readonly ClaimRow[]): string {
  return renderTable(
    ['NODECLAIM', 'NODEPOOL', 'TYPE', 'CAPACITY', 'ZONE', 'NODE', 'STATE', 'AGE', 'MESSAGE'],
    claims.map((claim) => [
      claim.nodeClaim,
      claim.nodePool,
      claim.instanceType,
      claim.capacityType,
      claim.zone,
      claim.node,
      claim.state,
      age(claim.ageMs),
      claim.message,
    ]),
  );
}

function offeringTable(offerings: readonly OfferingRow[]): string {
  return renderTable(
    ['TYPE', 'CAPACITY', 'ZONE', 'UNTIL', 'REASON'],
    offerings.map(({ instanceType, capacityType, zone, until, reason }) => [
      instanceType,
      capacityType,
      zone,
      until,
      reason,
    ]),
  );
}

function workflowTable(workflows: readonly WorkflowRow[]): string {
  return renderTable(
    ['WORKFLOW', 'NODECLAIM', 'REASON', 'PHASE', 'WAITS FOR', 'UNTIL'],
    workflows.map((row) => [
      shortId(row.workflowId),
      row.nodeClaim,
      row.reason,
      row.phase,
      cut(row.blockedBy === '' ? row.waitingFor : row.blockedBy),
      row.until === '' ? '' : timeText(row.until),
    ]),
  );
}

/** Without the cluster, which every id begins with. */
function shortId(workflowId: string): string {
  return workflowId.slice(workflowId.indexOf('/') + 1);
}

const widest = 60;

function cut(text: string): string {
  return text.length <= widest ? text : `${text.slice(0, widest - 1)}…`;
}

/** As `kubectl get` shows ages: one unit, or two while the first is small. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60}s`;
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${minutes % 60}m`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
