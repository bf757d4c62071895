import {
  answersTo,
  type ClaimRow,
  type DriftRow,
  type OfferingRow,
  type PoolRow,
  type ProblemRow,
  type StatusReport,
  type UnplacedRow,
  type WorkflowRow,
} from '../status-rows.js';
import { type AskedQuestion, effectsOf } from '../../workflows/messages.js';
import { arePoolsUnread } from '../status-reading.js';
import { statusPodsText } from '../status-objects.js';
import { pauseTable, refusedTable } from './people-table.js';
import { lookUp } from '../../core/own.js';
import { counted, onOneLine, verb } from '../../core/text.js';
import { hourly, renderTable } from './table.js';
import { timeText } from '../../core/time.js';

/** NodePools with their cost and its lower bound; with a total if there are several. */
export function poolTable({
  pools,
  ...least
}: Pick<StatusReport, 'pools' | 'leastPossiblePerHour' | 'leastPossibleWithout'>): string {
  const rows = pools.map((pool) => [
    ...[pool.nodePool, pool.ready, pool.nodes, ...priceCells(pool)],
    ...[pool.limits.join(', '), [pool.message, ...draining(pool)].filter((text) => text !== '').join('; ')],
  ]);
  return renderTable(
    ['NODEPOOL', 'READY', 'NODES', 'PRICE PER HOUR', 'LOWER BOUND', 'LIMITS', 'MESSAGE'],
    pools.length < 2 ? rows : [...rows, totalOf(pools, least)],
  );
}

/** Pods may move to a cheaper NodePool, so the bound for all is not the sum of those for each. */
function totalOf(pools: readonly PoolRow[], least: Omit<Price, 'pricePerHour'>): (string | number)[] {
  const nodes = pools.reduce((sum, pool) => sum + pool.nodes, 0);
  const known = pools.every(({ pricePerHour }) => pricePerHour !== undefined);
  const price = known ? { pricePerHour: pools.reduce((sum, pool) => sum + (pool.pricePerHour ?? 0), 0) } : {};
  return ['all', '', nodes, ...priceCells({ ...price, ...least }), '', ''];
}

const draining = ({ draining: count }: PoolRow): string[] =>
  count === undefined ? [] : [`${count} of the nodes ${verb(count, 'is', 'are')} draining`];

type Price = Pick<PoolRow, 'pricePerHour' | 'leastPossiblePerHour' | 'leastPossibleWithout'>;

/** The price without its distance from the bound if the bound is for other pods or another time. */
function priceCells({
  pricePerHour: price,
  leastPossiblePerHour: least,
  leastPossibleWithout: without = 0,
}: Price): string[] {
  if (price === undefined) return ['', ''];
  if (least === undefined) return [hourly(price), ''];
  if (without > 0) return [hourly(price), `${hourly(least)} (without ${counted(without, 'pod')})`];
  const above = least > 0 && price >= least ? ` (+${Math.round((price / least - 1) * 100)}%)` : '';
  return [hourly(price), `${hourly(Math.min(least, price))}${above}`];
}

/**
 * The state of the cluster and of Stowage as text: what needs a user, what is wrong, what is in progress, what exists,
 * what is held back, and what is next. Without repetitions.
 */
export function statusText(given: StatusReport): string {
  const report = onOneLine(given);
  const { karpenter, pools, pauses, refused, declined } = report;
  const sections = [
    ...(karpenter === undefined ? [] : [section('Karpenter is running', [stillText(karpenter)])]),
    section(
      'Could not be read, and is missing below',
      report.unread.map((line) => `  ${line}`),
    ),
    section('Needs you', needsYou(report)),
    section('Wrong', wrong(report)),
    section('Under way', underWay(report)),
    section('NodePools', pools.length > 0 ? [poolTable(report)] : arePoolsUnread(report.unread) ? [] : ['  none']),
    section('Nodes that could go but stay', staying(report)),
    section('Paused', pauses.length === 0 ? [] : [pauseTable(pauses)]),
    section('Rejected (stowage reconsider undoes it)', [
      ...(refused.length === 0 ? [] : [refusedTable(refused)]),
      ...declined.map(problemLine),
    ]),
    section('Next', nextLines(report.nextWindow)),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}

/** Empty without content. */
const section = (title: string, parts: readonly string[]): string =>
  parts.length === 0 ? '' : `${title}\n${parts.join('\n')}`;

function stillText({ holder, lease }: NonNullable<StatusReport['karpenter']>): string {
  return `  ${holder} holds the lease ${lease}: Stowage does nothing until it is free`;
}

/** Questions first, then workflows that wait for a user's action. */
function needsYou({ workflows, stuck, problems }: StatusReport): string[] {
  const asking = workflows.filter(({ awaitingApproval }) => awaitingApproval);
  const blocked = workflows.filter(({ blockedBy, awaitingApproval }) => blockedBy !== '' && !awaitingApproval);
  return [
    ...asking.map(question),
    ...blocked.map(blockedLine),
    ...stuck.filter(({ kind }) => kind === 'pool').map(stuckLine),
    ...problems.map(problemLine),
  ];
}

function wrong({ stuck, claims, unplaced, unavailable }: StatusReport): string[] {
  const failing = claims.filter(({ state, message }) => state === 'launching' && message !== '');
  const placeless = new Set(unplaced.flatMap(({ pods }) => pods.map((pod) => `pod/${pod}`)));
  return [
    ...stuck.filter(({ kind, subject }) => kind !== 'pool' && !placeless.has(subject)).map(stuckLine),
    ...unplaced.map(unplacedLine),
    ...failing.slice(0, launchesShown).map(failingLine),
    ...(failing.length > launchesShown
      ? [`  and ${counted(failing.length - launchesShown, 'more launch waits', 'more launches wait')}`]
      : []),
    ...outOfCapacity(unavailable),
  ];
}

const launchesShown = 10;
const problemLine = ({ object, message }: ProblemRow): string => `  ${object}: ${message}`;

function unplacedLine({ why, pods }: UnplacedRow): string {
  const [first = ''] = pods;
  const [namespace = '', name = ''] = first.split('/');
  return `  ${counted(pods.length, 'pod')} without a place: ${statusPodsText(pods)}\n    ${why}\n    stowage why pod/${name} -n ${namespace}`;
}

const failingLine = ({ nodeClaim, nodePool, ageMs, message }: ClaimRow): string =>
  `  ${nodeClaim} of NodePool ${nodePool} has not launched for ${age(ageMs)}: ${message}`;

const typesShown = 3;
const movesShown = 3;

/** By capacity type, zone and reason: one line per offering would be thousands. */
function outOfCapacity(offerings: readonly OfferingRow[]): string[] {
  const groups = new Map<string, OfferingRow[]>();
  for (const offering of offerings) {
    const key = `${offering.capacityType} in ${offering.zone} (${offering.reason})`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [offering]);
    else group.push(offering);
  }
  return [...groups].map(([key, group]) => {
    const until = group.map((offering) => offering.until).sort()[0]!;
    const all = group.some(({ instanceType }) => instanceType === '*');
    const names = group.map(({ instanceType }) => instanceType).sort();
    const more = names.length > typesShown ? ` and ${names.length - typesShown} more` : '';
    const types = all ? 'all instance types' : `${names.slice(0, typesShown).join(', ')}${more}`;
    return `  out of capacity: ${key}: ${types}; tried again from ${timeText(until)}`;
  });
}

function underWay({ workflows, moreUnderWay, drift, claims }: StatusReport): string[] {
  const rows = workflows.filter(({ awaitingApproval, blockedBy }) => !awaitingApproval && blockedBy === '');
  const parts = [
    ...drift.map(driftLine),
    ...(rows.length === 0 ? [] : [workflowTable(rows)]),
    ...(moreUnderWay === 0 ? [] : [`  and ${counted(moreUnderWay, 'more workflow')}`]),
  ];
  const coming = claims.filter(({ state }) => state === 'registering' || state === 'initializing').length;
  const starting = coming === 0 ? [] : [`  ${counted(coming, 'node')} ${verb(coming, 'is', 'are')} starting`];
  if (parts.length + starting.length > 0) return [...starting, ...parts];
  return [workflows.length === 0 ? '  nothing' : '  nothing else'];
}

const driftLine = ({ nodePool, drifted, disrupting, nodes }: DriftRow): string =>
  `  drift of NodePool ${nodePool}: ${drifted} of ${counted(nodes, 'node')} left, ${disrupting} being replaced`;

function stuckLine({ subject, why, since, attempts, then }: StatusReport['stuck'][number]): string {
  const known = [
    ...(since === undefined ? [] : [`since ${timeText(since)}`]),
    ...(attempts === undefined ? [] : [`after ${counted(attempts, 'failure')}`]),
  ];
  return `  ${subject}: ${why}${known.length === 0 ? '' : ` (${known.join(', ')})`}\n    ${then}`;
}

/** The question, the effect of approval, the timeout, and how to answer. */
function question(row: WorkflowRow): string {
  const { reason, question: asked } = row;
  const who = `  ${subjectOf(row)} (${reason})`;
  const answers = answersTo(row).map((order) => `    ${order}`);
  // No worker responds: the question is shown as soon as one does.
  if (asked === undefined) return [`${who} waits for approval`, ...answers].join('\n');
  const { what, unanswered, until, moves } = asked;
  return [
    `${who} ${what.endsWith('?') ? 'asks:' : 'waits for'} ${what}`,
    ...effectsOf(asked).map((line) => `    ${line}`),
    `    without an answer until ${timeText(until)}: ${unanswered}`,
    ...(moves === undefined ? [] : [`    pods: ${fewMoves(moves)}`]),
    ...answers,
  ].join('\n');
}

function fewMoves({ podCount, first }: NonNullable<AskedQuestion['moves']>): string {
  const shown = first.slice(0, movesShown).join('; ');
  return podCount > movesShown ? `${podCount}: ${shown}; and ${podCount - movesShown} more` : shown;
}

/** A rollout concerns a NodePool; a workflow with neither, such as garbage collection, the cluster; others a node. */
function subjectOf({ nodeClaim, nodePool }: WorkflowRow): string {
  if (nodeClaim !== '') return nodeClaim;
  return nodePool === '' ? 'the cluster' : `NodePool ${nodePool}`;
}

function blockedLine(row: WorkflowRow): string {
  const { reason, blockedBy, causes = [blockedBy], facts, startedAt } = row;
  const line = (label: string, fact: string): string[] =>
    [lookUp(facts, fact) ?? 'none']
      .filter((value) => value !== 'none')
      .map((value) => `    ${label}: ${String(value)}`);
  return [
    `  ${subjectOf(row)} (${reason}) is blocked, draining since ${timeText(startedAt)}, ${left(facts['pods left'])}`,
    ...causes.map((cause) => `    ${cause}`),
    ...line('now', 'active step'),
    ...line('next', 'next step'),
    ...line('can be ended by', 'can be ended by'),
  ].join('\n');
}

const left = (pods: WorkflowRow['facts'][string] | undefined): string =>
  typeof pods === 'number' ? `${counted(pods, 'pod')} left` : 'pods left';

const reasonsShown = 15;
const nodesShown = 3;

/** By reason, those with most nodes first: one line per node would be thousands. */
function staying({ stays, moreStay }: StatusReport): string[] {
  const sorted = [...stays].sort((a, b) => b.nodes.length - a.nodes.length);
  const hidden = sorted.slice(reasonsShown).reduce((sum, { nodes }) => sum + nodes.length, moreStay);
  return [
    ...sorted.slice(0, reasonsShown).map(({ why, nodes }) => {
      const more = nodes.length > nodesShown ? ` and ${nodes.length - nodesShown} more` : '';
      // The text applies to each of them.
      const each = nodes.length > 1 ? ', each' : '';
      return `  ${nodes.slice(0, nodesShown).join(', ')}${more}${each}: ${why}`;
    }),
    ...(hidden === 0 ? [] : [`  and ${counted(hidden, 'more node')}: stowage why node/NAME`]),
  ];
}

/** Empty if no window or budget opens by itself. */
function nextLines(next: StatusReport['nextWindow']): string[] {
  return next === undefined ? [] : [`  ${timeText(next.at)}: ${next.why} (${next.nodePool}, ${next.reason})`];
}

function workflowTable(workflows: readonly WorkflowRow[]): string {
  return renderTable(
    ['WORKFLOW', 'ABOUT', 'REASON', 'PHASE', 'WAITS FOR', 'UNTIL'],
    workflows.map((row) => [
      shortId(row.workflowId),
      subjectOf(row),
      row.reason,
      row.phase,
      cut(row.waitingFor),
      row.until === '' ? '' : timeText(row.until),
    ]),
  );
}

/** Without the cluster's name, the prefix of every id. */
function shortId(workflowId: string): string {
  return workflowId.slice(workflowId.indexOf('/') + 1);
}

const widest = 60;

function cut(text: string): string {
  return text.length <= widest ? text : `${text.slice(0, widest - 1)}…`;
}

/** An age as in `kubectl get`: one unit, or two while the first is small. */
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
