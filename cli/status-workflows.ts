import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { compareText } from '../core/text.js';
import { parseWorkflowId } from '../core/ids.js';
import { type Explanation, explainQuery, openWorkflowsQuery, searchAttributes } from '../workflows/messages.js';
import type { WorkflowRow } from './status-rows.js';

interface StatusWorkflows {
  readonly rows: readonly WorkflowRow[];
  /** Number of further active workflows. */
  readonly more: number;
}

interface Store {
  readonly client: Client;
  readonly cluster: string;
}

type Listed = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId' | 'startTime' | 'typedSearchAttributes'>;

/** Maximum number of workflows that do not need a user. */
const mostRunning = 200;
const askedAtOnce = 10;
const answerWithinMs = 2000;

const { awaitingApproval, blockedBy, phase } = searchAttributes;
/** Entity workflows, which always run, are not listed. */
const entities = ['provision', 'disrupt', 'offerings', 'keepReplicas', 'measureSavings'];
/** Every node that expires has a workflow that waits for it. */
const expiration = 'expireNode';
const dormant = ['not due', 'starting'];

const listOf = (values: readonly string[]): string => `(${values.map((value) => `'${value}'`).join(', ')})`;

/**
 * Workflows that need a user come first, and all of them: a cluster has thousands of workflows that only wait for their
 * time.
 */
const needing = [`${awaitingApproval.name} = true`, `${blockedBy.name} IS NOT NULL`];
const underWay = [
  `WorkflowType NOT IN ${listOf([...entities, expiration])}`,
  `WorkflowType = '${expiration}' AND ${phase.name} NOT IN ${listOf(dormant)}`,
];

/**
 * The workflows that need a user, and other active ones. If no worker responds, the phase comes from search attributes.
 */
export async function statusWorkflows(store: Store, isAnswered: boolean): Promise<StatusWorkflows> {
  const found = new Map<string, Listed>();
  for (const terms of needing) for await (const one of listed(store, terms)) found.set(one.workflowId, one);
  let shown = 0;
  let more = 0;
  for (const terms of underWay)
    for await (const one of listed(store, terms)) {
      if (found.has(one.workflowId)) continue;
      if (shown >= mostRunning) more += 1;
      else found.set(one.workflowId, one);
      shown += 1;
    }
  const rows = await explained(store.client, [...found.values()], isAnswered);
  return { rows: rows.sort((a, b) => compareText(a.workflowId, b.workflowId)), more };
}

const listed = ({ client, cluster }: Store, terms: string): AsyncIterable<Listed> =>
  client.workflow.list({ query: `${openWorkflowsQuery(cluster)} AND ${terms}` });

/** With limited concurrency. If none of a group responds, no worker runs: the others are not queried. */
async function explained(client: Client, found: readonly Listed[], isAnswered: boolean): Promise<WorkflowRow[]> {
  const rows: WorkflowRow[] = [];
  let answers = isAnswered;
  for (let i = 0; i < found.length; i += askedAtOnce) {
    const some = found.slice(i, i + askedAtOnce);
    const told = answers ? await Promise.all(some.map(async (one) => explain(client, one))) : [];
    answers &&= told.some((one) => one !== undefined);
    rows.push(...some.map((one, n) => rowOf(one, told[n])));
  }
  return rows;
}

async function explain(client: Client, { workflowId, runId }: Listed): Promise<Explanation | undefined> {
  try {
    return await client.connection.withDeadline(Date.now() + answerWithinMs, () =>
      client.workflow.getHandle(workflowId, runId).query(explainQuery),
    );
  } catch {
    return undefined;
  }
}

function rowOf({ workflowId, startTime, typedSearchAttributes: attributes }: Listed, told?: Explanation): WorkflowRow {
  const text = (key: typeof searchAttributes.phase): string => attributes.get(key) ?? '';
  return {
    workflowId,
    kind: parseWorkflowId(workflowId)?.kind ?? '',
    nodePool: text(searchAttributes.nodePool),
    nodeClaim: text(searchAttributes.nodeClaim),
    reason: text(searchAttributes.reason),
    phase: told?.phase ?? text(phase),
    blockedBy: text(blockedBy),
    waitingFor: told?.waitingFor ?? '',
    until: told?.until ?? '',
    startedAt: startTime.toISOString(),
    awaitingApproval: attributes.get(awaitingApproval) === true,
    facts: told?.facts ?? {},
    ...(told?.question === undefined ? {} : { question: told.question }),
    ...(told?.blockedBy === undefined ? {} : { causes: told.blockedBy }),
  };
}
