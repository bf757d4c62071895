import { type Client, type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import { type Command, Option } from 'commander';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { compareText } from '../core/text.js';
import { parseWorkflowId, workflowIds } from '../core/ids.js';
import {
  explainPodUpdate,
  explainQuery,
  openWorkflowsQuery,
  quotedForQuery,
  searchAttributes,
  whyNotUpdate,
} from '../workflows/messages.js';
import { tailOf } from '../operator/stuck/history-tail.js';
import { labelsOf } from '../cluster/node-labels.js';
import { isTrue } from '../core/conditions.js';
import { UsageError } from './exit.js';
import { type Live, liveSettings, readTimeoutMs, withLive } from './live.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { messageOf } from '../core/error-message.js';
import { karpenterLease, leaderLease } from '../process/settings.js';
import { isTerminal } from '../core/pods.js';
import { readBudgets, type StatusInput, statusReport } from './status-report.js';
import {
  nodesToShow,
  poolAnswer,
  claimAnswer,
  type ClaimKnown,
  claimText,
  type Why,
  whyText,
  type WhyWorkflow,
} from './why-answers.js';
import { nameOf } from '../core/names.js';

interface Run {
  readonly workflowId: string;
}

/** A workflow that keeps failing has many runs, before those of others. */
const mostRuns = 500;

/** The first run of each workflow in a list, which is its latest: Temporal lists later runs first. */
export async function* lastRuns<R extends Run>(runs: AsyncIterable<R>): AsyncGenerator<R> {
  const seen = new Set<string>();
  let read = 0;
  for await (const run of runs) {
    if (!seen.has(run.workflowId)) yield run;
    seen.add(run.workflowId);
    read += 1;
    if (read >= mostRuns) return;
  }
}

const timeoutMs = 5000;
const workflowsShown = 20;

const subjects = 'pod/NAME, node/NAME, nodeclaim/NAME or nodepool/NAME';

export function whyCommand(): Command {
  return settingsCommand('why')
    .argument('<subject>', subjects)
    .option('-n, --namespace <name>', 'namespace of the pod', 'default')
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['text', 'json']).default('text'));
}

/**
 * `stowage why`: why a pod, node or NodeClaim is in its state, or what a NodePool does and what blocks it, with the
 * active workflows, as text.
 */
export async function why(args: readonly string[]): Promise<string> {
  const command = whyCommand();
  command.parse(args, { from: 'user' });
  const { output, namespace = 'default', ...flags } = givenFlags(command);
  const { kind, name } = subjectOf(command.args[0] ?? '');
  const settings = liveSettings(flags);
  const found = await withLive(
    settings,
    'why',
    async (live) =>
      whyObject(
        { ...live, karpenterLease: karpenterLease(settings), leaderLease: leaderLease(settings) },
        { kind, name, namespace },
      ),
    readTimeoutMs,
  );
  return output === 'json' ? `${JSON.stringify(found, null, 1)}\n` : whyText(found);
}

interface WhySources extends Live, Pick<StatusInput, 'karpenterLease' | 'leaderLease'> {}

interface WhySubject {
  readonly kind: 'pod' | 'node' | 'nodeclaim' | 'nodepool';
  readonly name: string;
  /** Of a pod. */
  readonly namespace?: string;
}

/** What the command and the API answer. Throws `UsageError` if there is no such object. */
export function whyObject(sources: WhySources, { kind, name, namespace = 'default' }: WhySubject): Promise<Why> {
  if (kind === 'pod') return whyPod(sources, namespace, name);
  if (kind === 'nodepool') return whyPool(sources, name);
  return kind === 'node' ? whyNode(sources, name) : whyClaim(sources, name);
}

/** Forms that people and kubectl use: `node/a`, `nodes/a`, `nodeclaim.karpenter.sh/a`. */
function subjectOf(text: string): WhySubject {
  const [kind, name, ...more] = text.split('/');
  const known = {
    pod: 'pod',
    po: 'pod',
    node: 'node',
    no: 'node',
    nodeclaim: 'nodeclaim',
    nodepool: 'nodepool',
  } as const;
  const found = Object.entries(known).find(
    ([each]) => each === kind?.toLowerCase().replace(/\..*$/, '').replace(/s$/, ''),
  )?.[1];
  if (found !== undefined && name !== undefined && name !== '' && more.length === 0) return { kind: found, name };
  throw new UsageError(`"${text}": expected ${subjects}`);
}

async function whyPod(live: Live, namespace: string, name: string): Promise<Why> {
  const { client, cluster } = live;
  const subject = `pod ${namespace}/${name}`;
  const handle = client.workflow.getHandle(workflowIds.provision(cluster));
  const explanation = await client.connection.withDeadline(Date.now() + 60_000, () =>
    handle.executeUpdate(explainPodUpdate, { args: [{ namespace, name }] }),
  );
  const { state, node, why: answer, details } = explanation;
  if (state === 'unknown') throw new UsageError(answer);
  const claim = node === undefined ? undefined : await claimOfNode(live, node);
  if (claim === undefined) return { subject, answer, details, workflows: [] };
  const launch = await explained(client, workflowIds.launch(cluster, claim.metadata.uid ?? ''), 'launch');
  return {
    subject,
    answer: state === 'bound' ? `${answer}, ${claimText(claim)}` : answer,
    // The node and the reason for its launch are printed once.
    details: [...details, ...launchText(launch)],
    workflows: [],
  };
}

function launchText(launch: WhyWorkflow | undefined): string[] {
  const planned = launch?.facts['planned'];
  return planned === undefined ? [] : [`why this node: it was planned as ${String(planned)}`];
}

async function whyNode(live: Live, name: string): Promise<Why> {
  const claim = await claimOfNode(live, name);
  if (claim !== undefined) return whyOf(live, `node ${name}`, claim);
  if ((await live.kube.get('Node', { name })) === undefined) throw new UsageError(`node ${name} does not exist`);
  return {
    subject: `node ${name}`,
    answer: 'it has no NodeClaim: Stowage does not manage it',
    details: [],
    workflows: [],
  };
}

async function whyClaim(live: Live, name: string): Promise<Why> {
  const claim = await live.kube.get('NodeClaim', { name });
  if (claim === undefined) throw new UsageError(`NodeClaim ${name} does not exist`);
  return whyOf(live, `nodeclaim ${name}`, claim);
}

async function whyOf(live: Live, subject: string, claim: NodeClaim): Promise<Why> {
  const node = claim.status?.nodeName;
  const verdict = node === undefined ? undefined : await verdictOfDisrupt(live, node);
  const workflows = await workflowsOf(live, claim);
  const answer = claimAnswer({ claim, workflows, verdict });
  const named = node === undefined ? '' : `, node ${node}`;
  return { subject, answer, details: [`it is ${claimText(claim)}${named}`, ...waiting(claim)], workflows };
}

async function whyPool(sources: WhySources, name: string): Promise<Why> {
  const { kube } = sources;
  const pool = await kube.get('NodePool', { name });
  const report = await statusReport({ ...sources, now: Date.now() });
  if (pool === undefined && report.pools.every(({ nodePool }) => nodePool !== name))
    throw new UsageError(`NodePool ${name} does not exist`);
  const budgets = await readBudgets(sources);
  const podsByNode = new Map<string, number>();
  for (const node of nodesToShow(report, name)) {
    const pods = await kube.list('Pod', { fieldSelector: `spec.nodeName=${node}` }).catch(() => undefined);
    if (pods !== undefined) podsByNode.set(node, pods.filter((pod) => !isTerminal(pod)).length);
  }
  return poolAnswer({ name, pool, report, budgets, podsByNode });
}

async function claimOfNode({ kube }: Live, node: string): Promise<NodeClaim | undefined> {
  const claims = await kube.list('NodeClaim');
  return claims.find(({ status, metadata }) => status?.nodeName === node || metadata.name === node);
}

/** Conditions that are not True, with their messages. */
function waiting({ status }: NodeClaim): string[] {
  return (status?.conditions ?? [])
    .filter((condition) => condition.status !== 'True' && condition.type !== 'Ready')
    .map(({ type, status: value, reason = '', message = '' }) => `${type} is ${value}: ${reason} ${message}`.trim());
}

/** The verdict of `disrupt` for the node; a worker has to respond. */
async function verdictOfDisrupt({ client, cluster }: Live, node: string): Promise<ClaimKnown['verdict']> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(cluster));
  try {
    return await client.connection.withDeadline(Date.now() + 4 * timeoutMs, () =>
      handle.executeUpdate(whyNotUpdate, { args: [node] }),
    );
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    return { unknown: messageOf(cause) };
  }
}

async function workflowsOf({ client, cluster }: Live, claim: NodeClaim): Promise<WhyWorkflow[]> {
  const own = [
    `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)}`,
    `${searchAttributes.nodeClaim.name} = ${quotedForQuery(nameOf(claim))}`,
  ].join(' AND ');
  const found: WhyWorkflow[] = [];
  for (const query of [own, ...rolloutQuery(cluster, claim)]) {
    for await (const run of lastRuns(client.workflow.list({ query }))) {
      if (found.length >= workflowsShown) break;
      const one = await explained(client, run.workflowId, run.status.name.toLowerCase());
      if (one !== undefined) found.push({ ...one, ...(await failureOf(client, run)) });
    }
  }
  return found.sort((a, b) => compareText(a.workflowId, b.workflowId));
}

/** Why the run failed, if it did. */
async function failureOf(
  client: Client,
  { workflowId, runId, status }: WorkflowExecutionInfo,
): Promise<Pick<WhyWorkflow, 'failure'>> {
  if (status.name !== 'FAILED') return {};
  const tail = await tailOf(client, workflowId, runId).catch(() => undefined);
  return { failure: tail?.failure ?? 'no reason is given' };
}

/** The rollout for which a drifted node waits belongs to its NodePool. */
function rolloutQuery(cluster: string, claim: NodeClaim): string[] {
  if (!isTrue(claim.status?.conditions, 'Drifted')) return [];
  const pool = quotedForQuery(labelsOf(claim).nodePool);
  return [
    `${openWorkflowsQuery(cluster)} AND ${searchAttributes.nodePool.name} = ${pool} AND WorkflowType = 'replaceDrifted'`,
  ];
}

/**
 * The planned offering and its reason are in the static details of the launch; the cloud may have chosen another
 * allowed offering.
 */
async function launchReason(client: Client, workflowId: string): Promise<string | undefined> {
  const described = await client.connection.withDeadline(Date.now() + timeoutMs, () =>
    client.workflow.getHandle(workflowId).describe(),
  );
  // What follows the first paragraph is guidance for the Temporal UI.
  return (await described.staticDetails())?.split('\n\n', 1)[0];
}

/** Without a worker, only the workflow's state is known. */
async function explained(client: Client, workflowId: string, state: string): Promise<WhyWorkflow | undefined> {
  try {
    const explanation = await client.connection.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.getHandle(workflowId).query(explainQuery),
    );
    const planned = parseWorkflowId(workflowId)?.kind === 'launch' ? await launchReason(client, workflowId) : undefined;
    return {
      workflowId,
      state,
      ...explanation,
      facts: { ...(planned === undefined ? {} : { planned }), ...explanation.facts },
    };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    return { workflowId, state, phase: 'not known (no worker answers)', facts: {} };
  }
}
