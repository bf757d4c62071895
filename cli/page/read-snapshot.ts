import type { Client } from '@temporalio/client';
import { nodePrices, viewsWith } from '../../cluster/cluster.js';
import type { ClusterDeps } from '../../cluster/deps.js';
import { pausesInForce } from '../../cluster/pauses.js';
import { lookUp } from '../../core/own.js';
import { pauseScopeText } from '../../core/pause-scope.js';
import { counted } from '../../core/text.js';
import { timeText } from '../../core/time.js';
import type { KubeClient, Kind, ListOptions } from '../../kube/port.js';
import { replacementIndex } from '../../disruption/command.js';
import { type BudgetView, type ConsolidateInput, effectsOf } from '../../workflows/messages.js';
import { temporalEngine } from '../history/engine.js';
import { fieldsOf } from '../history/records.js';
import { readSavings } from '../report/read-activity.js';
import { sumsOf } from '../report/sums.js';
import { readBudgets, statusReport } from '../status-report.js';
import { clusterRows } from '../status-objects.js';
import { StatusReading } from '../status-reading.js';
import { answersTo, type StatusReport, type WorkflowRow } from '../status-rows.js';
import { type PageNodes, pricesByPool } from './nodes.js';
import type { PrometheusSource } from './prometheus.js';
import { pageVersion, type PageCommand, type PageNeed, type PageSnapshot } from './snapshot.js';

export interface PageDeps extends ClusterDeps {
  readonly kube: KubeClient;
  readonly client: Client;
  readonly cluster: string;
  readonly karpenterLease: { readonly namespace: string; readonly name: string };
  readonly leaderLease: { readonly namespace: string; readonly name: string };
  /** Address of the Temporal UI with the namespace; empty if unknown. */
  readonly temporalUi: string;
  /** Where prices of earlier are. */
  readonly prometheus?: PrometheusSource;
}

/** What is read from Temporal, which costs more than the cache and changes less often. */
export interface EngineState {
  readonly report: StatusReport;
  readonly budgets: readonly BudgetView[];
  readonly commands: readonly PageCommand[];
  readonly saved?: PageSnapshot['saved'];
}

const savingsOver = 24 * 3_600_000;
/** Measured savings are in histories, which cost more to read than they change. */
const savingsEvery = 300_000;

/** Reads Temporal and the objects that `stowage status` reads. Rejects if Temporal cannot be reached. */
export async function readEngine(deps: PageDeps, before?: EngineState): Promise<EngineState> {
  const { client, cluster, cache, kube, karpenterLease, leaderLease } = deps;
  const report = await statusReport({
    ...{ client, cluster, karpenterLease, leaderLease },
    kube: { get: kube.get.bind(kube), list: listsOf(cache, kube) },
    now: deps.now(),
  });
  const budgets = await readBudgets(deps);
  const since = deps.now() - savingsOver;
  const isRecent = before?.saved !== undefined && since - before.saved.since < savingsEvery;
  const saved = isRecent ? before.saved : savedOf(since, sumsOf(await readSavings({ client, cluster, since })));
  return { report, budgets, saved, commands: await readCommands(deps, report.workflows) };
}

const savedOf = (
  since: number,
  { commands, predictedPerHour, measuredCommands, measuredRealisedPerHour }: ReturnType<typeof sumsOf>,
): PageSnapshot['saved'] => ({ since, commands, predictedPerHour, measuredCommands, measuredRealisedPerHour });

/** What Kubernetes alone knows, with what Temporal said before: for a time without Temporal. */
export async function readWithoutTemporal(deps: PageDeps, before: EngineState | undefined): Promise<EngineState> {
  const reading = new StatusReading();
  const lists = reading.kube({ list: listsOf(deps.cache, deps.kube) });
  const pods = deps.cache.all('Pod').filter(({ spec }) => spec.nodeName === undefined);
  const objects = await clusterRows(lists, pods, deps.now());
  const nothing = { stuck: [], unavailable: [], stays: [], moreStay: 0, workflows: [], moreUnderWay: 0 };
  const pools = objects.pools.map((pool) => {
    const known = before?.report.pools.find(({ nodePool }) => nodePool === pool.nodePool);
    return { ...known, ...pool };
  });
  const report = { ...(before?.report ?? nothing), ...objects, pools, unread: reading.unread };
  return { budgets: [], commands: [], ...before, report };
}

/** Lists from the cache where it has the kind. */
function listsOf(cache: ClusterDeps['cache'], kube: KubeClient): KubeClient['list'] {
  return async <K extends Kind>(kind: K, options?: ListOptions) => {
    const isWhole = options === undefined || Object.keys(options).length === 0;
    if (isWhole && cache.kinds.includes(kind)) return [...cache.all(kind)];
    return kube.list(kind, options);
  };
}

const mostCommands = 50;

/** Disruptions that are asked for or under way, with what they move, which is in the input of their workflows. */
async function readCommands(
  { client, cache }: Pick<PageDeps, 'client' | 'cache'>,
  workflows: readonly WorkflowRow[],
): Promise<PageCommand[]> {
  const engine = temporalEngine(client);
  const commands = workflows.filter(({ kind }) => kind === 'consolidate').slice(0, mostCommands);
  const read = commands.map(async (row): Promise<PageCommand[]> => {
    const first = await engine.firstStep({ workflowId: row.workflowId, runId: '' }).catch(() => undefined);
    const { candidates, decision, reason } = fieldsOf<ConsolidateInput>(
      first?.is === 'started' ? first.input : undefined,
    );
    if (candidates === undefined) return [];
    const replacements = decision?.replacements ?? [];
    return [
      {
        ...{ workflowId: row.workflowId, reason: reason ?? row.reason, phase: row.phase },
        nodes: candidates.map(({ node }) => node),
        launches: replacements.map(({ nodePool, podCount, cheapest }, i) => ({
          ...{ name: newNode(i), pool: nodePool, type: cheapest.instanceType, zone: cheapest.zone, pods: podCount },
          ...{ capacityType: cheapest.capacityType, pricePerHour: cheapest.pricePerHour },
        })),
        moves: (decision?.moves ?? []).map(({ pod, to }) => ({ pod, from: nodeOfPod(cache, pod), to: placeOf(to) })),
        savesPerHour: (decision?.priceBefore ?? 0) - (decision?.priceAfter ?? 0),
      },
    ];
  });
  return (await Promise.all(read)).flat();
}

/** The node that a pod (`namespace/name`) runs on; empty if it is gone. */
function nodeOfPod(cache: ClusterDeps['cache'], pod: string): string {
  const [namespace = '', name = ''] = pod.split('/');
  return cache.get('Pod', { namespace, name })?.spec.nodeName ?? '';
}

const newNode = (index: number): string => `new node ${index + 1}`;

function placeOf(to: string): string {
  const index = replacementIndex(to);
  return index === undefined ? to : newNode(index);
}

/** The cluster as the page shows it; prices and nodes from the cache, all else as last read from Temporal. */
export async function readSnapshot(
  deps: PageDeps,
  pages: PageNodes,
  engine: EngineState | undefined,
): Promise<Omit<PageSnapshot, 'problems' | 'series' | 'decisions'>> {
  const { prices } = await nodePrices(deps);
  const pauses = pausesInForce(deps.cache.all('DisruptionPause'), deps.now());
  const nodes = pages.read(viewsWith(deps, prices), pauses);
  return {
    version: pageVersion,
    cluster: deps.cluster,
    at: deps.now(),
    temporal: deps.temporalUi,
    pricePerHour: nodes.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
    nodes,
    workloads: [...pages.workloads],
    pools: poolsOf(engine, pricesByPool(nodes)),
    commands: [...(engine?.commands ?? [])],
    ...(engine?.saved === undefined ? {} : { saved: engine.saved }),
    pauses: pauses.map(({ scope, reason, actor, until }) => ({
      ...{ scope: pauseScopeText(scope), because: reason, by: actor },
      ...(until === undefined ? {} : { until }),
    })),
    ...(engine === undefined ? nothingRead : sectionsOf(engine.report)),
  };
}

const nothingRead = { needs: [], waiting: [], rollouts: [], stays: [], nextWindow: '' };

function sectionsOf(report: StatusReport): Pick<PageSnapshot, keyof typeof nothingRead | 'leastPossiblePerHour'> {
  const { leastPossiblePerHour, unplaced, stays, nextWindow } = report;
  return {
    ...(leastPossiblePerHour === undefined ? {} : { leastPossiblePerHour }),
    needs: needsOf(report),
    waiting: unplaced.map(({ why, pods }) => ({ why, pods: pods.slice(0, mostPodNames), count: pods.length })),
    rollouts: rolloutsOf(report),
    stays: stays.map(({ why, nodes }) => ({ why, nodes: [...nodes] })),
    nextWindow: nextText(nextWindow),
  };
}

const mostPodNames = 20;

function poolsOf(engine: EngineState | undefined, prices: Readonly<Record<string, number>>): PageSnapshot['pools'] {
  const { report, budgets = [] } = engine ?? {};
  return (report?.pools ?? []).map(({ nodePool: name, ready, message, nodes, limits, leastPossiblePerHour }) => ({
    ...{ name, ready, message, nodes, limits: [...limits], pricePerHour: lookUp(prices, name) ?? 0 },
    ...(leastPossiblePerHour === undefined ? {} : { leastPossiblePerHour }),
    budgets: budgets.filter(({ nodePool }) => nodePool === name),
  }));
}

/** Drifted nodes by NodePool, with the workflow of its rollout where its policy has one. */
function rolloutsOf({ drift, workflows }: StatusReport): PageSnapshot['rollouts'] {
  return drift.map(({ nodePool: pool, nodes, drifted, disrupting }) => {
    const row = workflows.find(({ kind, nodePool }) => kind === 'drift' && nodePool === pool);
    const { wave, 'nodes in the wave': size } = row?.facts ?? {};
    return {
      ...{ pool, nodes, drifted, disrupting, phase: row === undefined ? '' : `${row.phase}: ${row.waitingFor}` },
      ...(row === undefined ? {} : { workflowId: row.workflowId }),
      ...(wave === undefined ? {} : { wave: `wave ${String(wave)}: ${counted(Number(size), 'node')}` }),
      ...(row === undefined || row.until === '' ? {} : { until: row.until }),
    };
  });
}

const nextText = (next: StatusReport['nextWindow']): string =>
  next === undefined ? '' : `${timeText(Date.parse(next.at))}: ${next.why}`;

/** What a person should decide or repair, questions first. */
function needsOf({ workflows, stuck, problems, declined, pools }: StatusReport): PageNeed[] {
  return [
    ...workflows.filter(({ awaitingApproval }) => awaitingApproval).map(questionOf),
    ...workflows.filter(({ blockedBy, awaitingApproval }) => blockedBy !== '' && !awaitingApproval).map(drainOf),
    ...stuck.map(({ subject, why, then }) => needOf('stuck', subject, `${why}; ${then}`)),
    ...problems.map(({ object, message }) => needOf('problem', object, message)),
    ...pools
      .filter(({ ready, message }) => ready !== 'True' || message !== '')
      .map(({ nodePool, message }) => needOf('problem', `NodePool ${nodePool}`, message)),
    ...declined.map(({ object, message }) => needOf('declined', object, message)),
  ];
}

const needOf = (kind: PageNeed['kind'], subject: string, text: string): PageNeed => ({
  kind,
  subject,
  text,
  orders: [],
});

function questionOf(row: WorkflowRow): PageNeed {
  const { workflowId, nodeClaim, nodePool, reason, question, waitingFor, until } = row;
  const [approve, reject] = answersTo(row);
  return {
    kind: 'question',
    subject: nodeClaim === '' ? `NodePool ${nodePool}` : nodeClaim,
    text: question?.what ?? (waitingFor === '' ? `approval (${reason}): no worker says what yes does` : waitingFor),
    ...(question !== undefined && {
      yes: effectsOf(question).join('; '),
      ...{ until: question.until, unanswered: question.unanswered },
    }),
    ...(question === undefined && until !== '' ? { until } : {}),
    orders: [approve, `${reject} --because '...'`],
    workflowId,
  };
}

const drainOf = ({ workflowId, nodeClaim, causes, blockedBy }: WorkflowRow): PageNeed => ({
  kind: 'drain',
  subject: nodeClaim,
  text: (causes ?? [blockedBy]).join('; '),
  orders: [`stowage expedite ${nodeClaim} --because '...'`],
  workflowId,
});
