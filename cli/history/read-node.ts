import type { Node } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { type ConsolidateInput, quotedForQuery, searchAttributes } from '../../workflows/messages.js';
import { parseWorkflowId } from '../../core/ids.js';
import { instanceOfProviderId } from '../../core/names.js';
import { inBatches } from '../../core/at-once.js';
import { counted } from '../../core/text.js';
import type { KubeClient } from '../../kube/port.js';
import type { Engine, Listed } from './engine.js';
import { callOf, fieldsOf, type NodeRecords, resultOf, type Run, type RunRef, type Step } from './records.js';
import { isDescribed } from './life-entries.js';
import { messageOf } from '../../core/error-message.js';
import { UsageError } from '../exit.js';
import type { CreateClaimsInput, CreatedClaim } from '../../activities/provisioning/contract.js';

type Created = Readonly<{ created: readonly CreatedClaim[] }>;

/** Plans start batches of launches, which start launches: the plan is in the grandparent. */
const generations = 2;

/**
 * Pods for which a claim was planned, from the history of the workflow that created it; empty if that is not retained.
 */
async function readPlannedPods(engine: Engine, runs: readonly Run[], claimName: string): Promise<readonly string[]> {
  const launch = runs.find(({ kind }) => kind === 'launch');
  let parent = launch === undefined ? undefined : parentOf(launch.steps);
  for (let i = 0; i < generations && parent !== undefined; i++) {
    // Its history may be deleted before that of the launch.
    const steps: readonly Step[] = await engine.steps(parent).catch(() => []);
    const pods = podsOf(steps, claimName);
    if (pods !== undefined) return pods;
    parent = parentOf(steps);
  }
  return [];
}

function parentOf(steps: readonly Step[]): RunRef | undefined {
  const started = steps.find((step) => step.is === 'started');
  return started?.is === 'started' ? started.parent : undefined;
}

function podsOf(steps: readonly Step[], claimName: string): readonly string[] | undefined {
  for (const step of steps) {
    const call = callOf<CreateClaimsInput, Created>(step, 'createClaims');
    const claim = call?.result.created?.find(({ name }) => name === claimName);
    if (claim !== undefined) return call?.input.claims?.[claim.index]?.pods;
  }
  return undefined;
}

/** Maximum number of launches, and of terminations, searched for a Node's name. */
export const mostForNodeName = 500;
/** Maximum number of runs for one node, and of commands searched for a candidate. */
const most = { runs: 200, commands: 300 } as const;
const atOnce = 10;

export interface Sources {
  readonly engine: Engine;
  readonly kube: Pick<KubeClient, 'get' | 'list'>;
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Everything known about the node with the name of a Node, NodeClaim or instance; undefined if the name is unknown.
 * Throws `UsageError` if Kubernetes might know it but cannot be read.
 */
export async function readNode(sources: Sources, name: string): Promise<NodeRecords | undefined> {
  const objects = await readObjects(sources, name);
  const gaps = objects.unread === undefined ? [] : [objects.unread];
  const claimName = objects.claim?.metadata.name ?? (await claimNameOf(sources, name, gaps));
  if (claimName === undefined && objects.unread !== undefined)
    throw new UsageError(
      `Temporal knows nothing of a NodeClaim, Node or instance "${name}". ${objects.unread} (stowage status has the NodeClaims that something is under way for)`,
    );
  if (claimName === undefined) return undefined;
  const found = await runsAbout(sources, claimName, instanceOf(objects.claim), gaps);
  const runs = await readRuns(sources.engine, found, gaps);
  const retentionMs = await sources.engine.retentionMs().catch(() => undefined);
  return {
    ...{ name, claimName, runs, now: sources.now },
    pods: await readPlannedPods(sources.engine, runs, claimName),
    ...(objects.claim === undefined ? {} : { claim: objects.claim }),
    ...(objects.node === undefined ? {} : { node: objects.node }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
    isKubernetesRead: objects.unread === undefined,
    gaps,
  };
}

interface Objects {
  readonly claim?: NodeClaim | undefined;
  readonly node?: Node | undefined;
  /** Why Kubernetes cannot be read. */
  readonly unread?: string;
}

/** If the API server is unavailable or denies access, only Temporal is used. */
async function readObjects({ kube }: Sources, name: string): Promise<Objects> {
  try {
    const claims = await kube.list('NodeClaim');
    const claim =
      claims.find(({ metadata }) => metadata.name === name) ??
      claims.find((claim) => claim.status?.nodeName === name || instanceOf(claim) === name);
    // A Node without NodeClaim is not managed.
    const nodeName = claim?.status?.nodeName;
    if (claim === undefined || nodeName === undefined) return { claim };
    const node = await kube.get('Node', { name: nodeName });
    return { claim, node };
  } catch (error) {
    return { unread: `Kubernetes cannot be read: ${messageOf(error)}.` };
  }
}

function instanceOf(claim: NodeClaim | undefined): string | undefined {
  const providerId = claim?.status?.providerID;
  return providerId === undefined ? undefined : instanceOfProviderId(providerId);
}

const ofCluster = (cluster: string): string => `${searchAttributes.cluster.name} = ${quotedForQuery(cluster)}`;
const isAbout = (key: 'nodeClaim' | 'instanceId', value: string): string =>
  `${searchAttributes[key].name} = ${quotedForQuery(value)}`;

/** The NodeClaim for a name, according to workflows. */
async function claimNameOf({ engine, cluster }: Sources, name: string, gaps: string[]): Promise<string | undefined> {
  const own = ofCluster(cluster);
  if ((await engine.list(`${own} AND ${isAbout('nodeClaim', name)}`, 1)).length > 0) return name;
  const ofInstance = await engine.list(`${own} AND ${isAbout('instanceId', name)}`, most.runs);
  const named = ofInstance.find(({ nodeClaim }) => nodeClaim !== '');
  if (named !== undefined) return named.nodeClaim;
  return claimOfNode(engine, own, name, gaps);
}

/** Names of Nodes are not search attributes: launches and terminations are searched. */
async function claimOfNode(engine: Engine, own: string, node: string, gaps: string[]): Promise<string | undefined> {
  const runs = [
    ...(await runsOfNode(engine, `${own} AND WorkflowType = 'launchNode'`, node)),
    ...(await runsOfNode(engine, `${own} AND WorkflowType = 'terminateNode'`, node)),
  ];
  const [newest, ...older] = new Set(runs.sort((a, b) => b.at - a.at).map(({ nodeClaim }) => nodeClaim));
  if (older.length > 0)
    gaps.push(`Node ${node} stood for other NodeClaims before (names of Nodes are used again): ${older.join(', ')}.`);
  return newest;
}

/** The newest runs of the query that ended with this Node, and when. */
async function runsOfNode(
  engine: Engine,
  query: string,
  node: string,
): Promise<{ readonly nodeClaim: string; readonly at: number }[]> {
  const found: { nodeClaim: string; at: number }[] = [];
  await inBatches(
    await engine.list(`${query} AND ExecutionStatus = 'Completed'`, mostForNodeName),
    async (run) => {
      const last = await engine.lastStep(run);
      const result = last === undefined ? undefined : resultOf<{ readonly nodeName: string }>(last);
      if (last !== undefined && result?.nodeName === node) found.push({ nodeClaim: run.nodeClaim, at: last.at });
    },
    { atOnce },
  );
  return found;
}

/** Runs of the workflows for the claim or its instance, and of commands with it as a candidate. */
async function runsAbout(
  { engine, cluster }: Sources,
  claimName: string,
  instance: string | undefined,
  gaps: string[],
): Promise<readonly Listed[]> {
  const own = ofCluster(cluster);
  const byClaim = await engine.list(`${own} AND ${isAbout('nodeClaim', claimName)}`, most.runs);
  const id = instance ?? byClaim.find(({ instanceId }) => instanceId !== '')?.instanceId;
  const byInstance = id === undefined ? [] : await engine.list(`${own} AND ${isAbout('instanceId', id)}`, most.runs);
  const asCandidate = await commandsOn(engine, own, claimName, gaps);
  if (byClaim.length >= most.runs) gaps.push(`Only the newest ${counted(most.runs, 'workflow run')} are shown.`);
  const all = new Map([...byClaim, ...byInstance, ...asCandidate].map((run) => [run.runId, run]));
  return [...all.values()];
}

/** A command has only its first candidate as a search attribute; its input has all. */
async function commandsOn(engine: Engine, own: string, claimName: string, gaps: string[]): Promise<readonly Listed[]> {
  const commands = await engine.list(`${own} AND WorkflowType = 'consolidate'`, most.commands);
  if (commands.length >= most.commands)
    gaps.push(`Only the newest ${counted(most.commands, 'command')} were looked through for this node.`);
  const found: Listed[] = [];
  await inBatches(
    commands.filter(({ nodeClaim }) => nodeClaim !== claimName),
    async (command) => {
      const first = await engine.firstStep(command);
      if (first?.is !== 'started') return;
      const { candidates = [] } = fieldsOf<ConsolidateInput>(first.input);
      if (candidates.some(({ claim }) => claim.name === claimName)) found.push(command);
    },
    { atOnce },
  );
  return found;
}

/** A history may reach its retention between list and read. */
async function readRuns(engine: Engine, found: readonly RunRef[], gaps: string[]): Promise<readonly Run[]> {
  const runs: Run[] = [];
  await inBatches(
    found,
    async ({ workflowId, runId }) => {
      const kind = parseWorkflowId(workflowId)?.kind;
      if (kind === undefined || !isDescribed(kind)) return;
      try {
        runs.push({ workflowId, runId, kind, steps: await engine.steps({ workflowId, runId }) });
      } catch (error) {
        gaps.push(`The history of ${workflowId} cannot be read: ${messageOf(error)}.`);
      }
    },
    { atOnce },
  );
  return runs;
}
