import type { UpdateDefinition } from '@temporalio/common';
import { createKubeClient } from '../kube/client.js';
import { parseWorkflowId, type WorkflowKind } from '../core/ids.js';
import { DurationError, parseDuration } from '../core/durations.js';
import { workflowIds } from '../core/ids.js';
import type { ExpediteOrder, Explanation, HoldOrder, Order } from '../workflows/messages.js';
import {
  abortUpdate,
  approveUpdate,
  expediteUpdate,
  holdUpdate,
  rejectUpdate,
  retryUpdate,
  runningQuery,
  searchAttributes,
} from '../workflows/messages.js';
import { UsageError } from './exit.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { defaultActor, ordered, withTemporal, type Target } from './temporal.js';

/** Orders to one running disruption, and what each does. */
export const orders = {
  approve: 'let a disruption that waits for approval go on',
  reject: 'answer no to a disruption that waits for approval',
  abort: 'end a disruption that can still be taken back; it leaves no taint',
  expedite: 'do not wait any longer; for a drain: end the protection of its pods',
  retry: 'try again at once what failed or waits',
  hold: 'stay before the next step that cannot be taken back; --off lets it go on',
} as const;

export type OrderName = keyof typeof orders;

interface OrderOptions {
  readonly because?: string;
  readonly as: string;
  readonly within?: string;
  readonly off?: boolean;
}

/** `stowage approve|reject|abort|expedite|retry|hold WORKFLOW_OR_NODE`. */
export async function order(name: OrderName, args: readonly string[]): Promise<string> {
  const command = settingsCommand(`stowage ${name}`, orders[name], steeringSettings)
    .argument('<workflow-or-node>', 'workflow id, with or without the cluster, or the name of a node or NodeClaim')
    .option('--because <text>', 'why')
    .option('--as <name>', 'who you are', defaultActor());
  if (name === 'expedite') command.option('--within <duration>', 'the end at the latest, such as 5m; default now');
  if (name === 'hold') command.option('--off', 'let it go on');
  command.parse(args, { from: 'user' });
  const options = command.opts<OrderOptions>();
  const [subject = ''] = command.args;
  const input = inputOf(name, options);
  return withTemporal(command, async (target) => {
    const workflowId = await findWorkflow(target, subject, name);
    const handle = target.client.workflow.getHandle(workflowId);
    const answer = await ordered(target, workflowId, () => handle.executeUpdate(updates[name], { args: [input] }));
    return `${said[name]} ${workflowId}\n${stateLine(answer)}\n`;
  });
}

type Input = Order & Partial<ExpediteOrder & HoldOrder>;

const updates = {
  approve: approveUpdate,
  reject: rejectUpdate,
  abort: abortUpdate,
  expedite: expediteUpdate,
  retry: retryUpdate,
  hold: holdUpdate,
} as unknown as Readonly<Record<OrderName, UpdateDefinition<Explanation, [Input]>>>;

const said: Readonly<Record<OrderName, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  abort: 'Aborted',
  expedite: 'Hurried',
  retry: 'Tries again:',
  hold: 'Told',
};

function inputOf(name: OrderName, { as: actor, because, within, off }: OrderOptions): Input {
  const deadline = within === undefined ? undefined : Date.now() + lengthOf(within);
  return {
    actor,
    ...(because === undefined ? {} : { reason: because }),
    ...(name === 'hold' ? { on: off !== true } : {}),
    ...(deadline === undefined ? {} : { deadline }),
  };
}

function lengthOf(text: string): number {
  try {
    return parseDuration(text, '--within');
  } catch (error) {
    if (error instanceof DurationError) throw new UsageError(error.message);
    throw error;
  }
}

function stateLine({ phase, waitingFor, until }: Explanation): string {
  const wait =
    waitingFor === undefined ? '' : `, waits for ${waitingFor}${until === undefined ? '' : ` until ${until}`}`;
  return `Phase: ${phase}${wait}`;
}

interface Found {
  readonly workflowId: string;
  readonly kind: WorkflowKind | undefined;
  readonly asks: boolean;
}

/** The running workflow that a workflow id, node or NodeClaim stands for. Throws `UsageError` when none or several do. */
async function findWorkflow(target: Target, subject: string, name: OrderName): Promise<string> {
  const { cluster } = target;
  for (const id of [subject, `${cluster}/${subject}`]) if (parseWorkflowId(id)?.cluster === cluster) return id;
  const found = await runningFor(target, [subject]);
  const all = found.length > 0 ? found : await runningFor(target, await claimsOf(target, subject));
  const [only, ...others] = preferred(all, name);
  if (only === undefined) {
    throw new UsageError(
      `"${subject}" is no workflow id, and nothing is under way for a node or NodeClaim of that name`,
    );
  }
  if (others.length > 0) {
    const ids = [only, ...others].map(({ workflowId }) => `  ${workflowId}`).join('\n');
    throw new UsageError(`several workflows are about "${subject}"; name one of them:\n${ids}`);
  }
  return only.workflowId;
}

/** A node's removal may be two workflows: the decision, and the drain below it. */
function preferred(all: readonly Found[], name: OrderName): readonly Found[] {
  const wanted =
    name === 'approve' || name === 'reject'
      ? all.filter(({ asks }) => asks)
      : all.filter(({ kind }) => (kind === 'terminate') === (name === 'expedite' || name === 'retry'));
  return wanted.length > 0 ? wanted : all;
}

const steerable: ReadonlySet<WorkflowKind | undefined> = new Set([
  'consolidate',
  'terminate',
  'repair',
  'expire',
  'drift',
]);

async function runningFor({ client, cluster }: Target, names: readonly string[]): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  for (const name of names) {
    const query = `StowageCluster = ${quoted(cluster)} AND StowageNodeClaim = ${quoted(name)} AND ExecutionStatus = 'Running'`;
    for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query })) {
      const asks = typedSearchAttributes.get(searchAttributes.awaitingApproval) === true;
      found.set(workflowId, { workflowId, kind: parseWorkflowId(workflowId)?.kind, asks });
    }
  }
  const running = await client.workflow
    .getHandle(workflowIds.disrupt(cluster))
    .query(runningQuery)
    .catch(() => []);
  for (const { workflowId, candidates } of running) {
    if (found.has(workflowId)) continue;
    if (!candidates.some(({ node, claim }) => names.includes(node) || names.includes(claim.name))) continue;
    const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
    const asks = typedSearchAttributes.get(searchAttributes.awaitingApproval) === true;
    found.set(workflowId, { workflowId, kind: parseWorkflowId(workflowId)?.kind, asks });
  }
  return [...found.values()].filter(({ kind }) => steerable.has(kind));
}

/** Names of the NodeClaims behind a node, where the API server can be asked. */
async function claimsOf({ settings }: Target, node: string): Promise<readonly string[]> {
  const kube = createKubeClient({
    userAgent: 'stowage-cli',
    ...(settings.KUBECONFIG !== undefined && { kubeconfig: settings.KUBECONFIG }),
  });
  try {
    const claims = await kube.list('NodeClaim');
    return claims.filter(({ status }) => status?.nodeName === node).map(({ metadata }) => metadata.name ?? '');
  } catch {
    return [];
  } finally {
    kube.close();
  }
}
