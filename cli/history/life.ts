import { z } from 'zod';
import { labelsOf, poolText } from '../../cluster/node-labels.js';
import { attributeOf, type NodeRecords, phaseOf, type Run } from './records.js';
import { retentionNotes } from './retention.js';
import { lifeEntries, type LifeEntry } from './life-entries.js';
import type { Condition } from '../../api/kubernetes.js';

/** Conditions of a NodeClaim that `launchNode` describes better, as long as its history is retained. */
const ofLaunch: ReadonlyMap<string, string> = new Map([
  ['Launched', 'instance launched'],
  ['Registered', 'registered'],
  ['Initialized', 'initialized'],
]);

/** Information only in Kubernetes objects. */
function objectLines(records: NodeRecords): readonly LifeEntry[] {
  const { claim, node } = records;
  const hasLaunch = records.runs.some(({ kind }) => kind === 'launch');
  const created =
    claim === undefined ? '' : `NodeClaim ${records.claimName} of ${poolText(labelsOf(claim).nodePool)} created`;
  return [
    ...at(claim?.metadata.creationTimestamp, created),
    ...(claim?.status?.conditions ?? []).flatMap((condition) => conditionLine(condition, hasLaunch)),
    ...at(claim?.metadata.deletionTimestamp, 'NodeClaim marked for deletion'),
    ...at(node?.metadata.creationTimestamp, `Node ${node?.metadata.name ?? ''} created`),
    ...(node?.status?.conditions ?? []).flatMap(notReady),
  ];
}

function conditionLine(
  { type, status, reason = '', message = '', lastTransitionTime }: Condition,
  hasLaunch: boolean,
): readonly LifeEntry[] {
  const launch = ofLaunch.get(type);
  if (launch !== undefined) return hasLaunch || status !== 'True' ? [] : at(lastTransitionTime, launch);
  if (type !== 'Drifted' || status !== 'True') return [];
  return at(
    lastTransitionTime,
    `drifted${message === '' && reason === '' ? '' : `: ${message === '' ? reason : message}`}`,
  );
}

function notReady({ type, status, message = '', lastTransitionTime }: Condition): readonly LifeEntry[] {
  if (type !== 'Ready' || status === 'True') return [];
  return at(lastTransitionTime, `Node is not Ready${message === '' ? '' : `: ${message}`}`);
}

function at(time: string | undefined, what: string): readonly LifeEntry[] {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? [] : [{ at: ms, what }];
}

const lifeLine = z.object({
  at: z.string().describe('ISO 8601'),
  afterMs: z.number().optional().describe('since the previous line; absent in the first'),
  what: z.string(),
  workflowId: z.string().optional().describe('absent for entries from Kubernetes only'),
});

const openWorkflow = z.object({
  workflowId: z.string(),
  phase: z.string(),
  since: z.string().describe('when it entered that phase'),
  blockedBy: z.string().describe('what blocks its drain; empty if nothing does'),
});
export type OpenWorkflow = z.infer<typeof openWorkflow>;

/** A node's whole life, as `stowage history node -o json` and the API say it. */
export const lifeSchema = z.object({
  name: z.string(),
  nodeClaim: z.string(),
  nodePool: z.string(),
  node: z.string(),
  instance: z.string(),
  lines: z.array(lifeLine).readonly(),
  open: z.array(openWorkflow).readonly().describe('running workflows and their phase'),
  notes: z.array(z.string()).readonly().describe('what was not retained or could not be read'),
});
export type Life = z.infer<typeof lifeSchema>;

/** Everything known about a node, in chronological order. */
export function lifeOf(records: NodeRecords): Life {
  const { name, claimName, runs, pods, claim } = records;
  const workflows = byWorkflow(runs);
  const entries = [...workflows.values()].flatMap((own) => lifeEntries(own, { claimName, pods }));
  const lines = [...entries, ...objectLines(records)].sort((a, b) => a.at - b.at);
  return {
    name,
    nodeClaim: claimName,
    nodePool: claim === undefined ? latest(runs, 'nodePool') : labelsOf(claim).nodePool,
    node: claim?.status?.nodeName ?? records.node?.metadata.name ?? nodeNameIn(runs),
    instance: claim?.status?.providerID?.split('/').at(-1) ?? latest(runs, 'instanceId'),
    lines: lines.map(lineOf),
    open: [...workflows.values()].flatMap((own) => openOf(own)),
    notes: [...retentionNotes(records), ...records.gaps],
  };
}

/** Runs of each workflow, oldest first. */
function byWorkflow(runs: readonly Run[]): ReadonlyMap<string, readonly Run[]> {
  const all = new Map<string, Run[]>();
  for (const run of [...runs].sort((a, b) => startOf(a) - startOf(b))) {
    const own = all.get(run.workflowId);
    if (own === undefined) all.set(run.workflowId, [run]);
    else own.push(run);
  }
  return all;
}

const startOf = ({ steps }: Run): number => steps[0]?.at ?? 0;

function lineOf(
  { at, what, workflowId }: LifeEntry,
  index: number,
  all: readonly LifeEntry[],
): z.infer<typeof lifeLine> {
  const before = all[index - 1];
  return {
    at: new Date(at).toISOString(),
    ...(before === undefined ? {} : { afterMs: at - before.at }),
    what,
    ...(workflowId === undefined ? {} : { workflowId }),
  };
}

function openOf(runs: readonly Run[]): OpenWorkflow[] {
  const last = runs.at(-1);
  if (last === undefined || last.steps.some(({ is }) => is === 'ended')) return [];
  const entered = last.steps.findLast((step) => phaseOf(step) !== undefined) ?? last.steps[0];
  if (entered === undefined) return [];
  return [
    {
      workflowId: last.workflowId,
      phase: phaseOf(entered) ?? 'under way',
      since: new Date(entered.at).toISOString(),
      blockedBy: latest([last], 'blockedBy'),
    },
  ];
}

/** The last value of a search attribute; empty if it was never set, or unset. */
function latest(runs: readonly Run[], key: 'nodePool' | 'instanceId' | 'blockedBy'): string {
  const written = runs.flatMap(({ steps }) =>
    steps.flatMap((step) => {
      const value = attributeOf(step, key);
      return value === undefined ? [] : [{ at: step.at, value }];
    }),
  );
  const value = written.sort((a, b) => a.at - b.at).at(-1)?.value;
  return typeof value === 'string' ? value : '';
}

/** For a deleted Node: its launch or termination contains the name. */
function nodeNameIn(runs: readonly Run[]): string {
  for (const { steps } of runs) {
    for (const step of steps) {
      if (step.is !== 'activity') continue;
      const name = nodeNameOf(step.result);
      if (name !== undefined) return name;
    }
  }
  return '';
}

function nodeNameOf(result: unknown): string | undefined {
  const { nodeName } = typeof result === 'object' && result !== null ? (result as { nodeName?: unknown }) : {};
  return typeof nodeName === 'string' ? nodeName : undefined;
}
