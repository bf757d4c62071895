import type { ClaimRow, OfferingRow, PoolRow, StatusReport, WorkflowRow } from '../../operator/status-report.js';
import { renderTable } from './table.js';

/** What the cluster has and what Stowage is doing about it, for a person. */
export function statusText({ pools, claims, workflows, unavailable }: StatusReport): string {
  const sections = [
    section('NodePools', pools.length === 0 ? 'none' : poolTable(pools)),
    section('NodeClaims', claims.length === 0 ? 'none' : claimTable(claims)),
    ...(unavailable.length === 0 ? [] : [section('Offerings out of capacity', offeringTable(unavailable))]),
    section('Under way', workflows.length === 0 ? 'nothing' : workflowTable(workflows)),
  ];
  return `${sections.join('\n\n')}\n`;
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
    ['WORKFLOW', 'NODECLAIM', 'REASON', 'PHASE', 'WAITS FOR', 'UNTIL', 'BLOCKED BY'],
    workflows.map((row) => [
      row.workflowId,
      row.nodeClaim,
      row.reason,
      row.phase,
      row.waitingFor,
      row.until,
      row.blockedBy,
    ]),
  );
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
