import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { DurationError, parseDuration } from '../core/durations.js';
import type { ExpediteOrder, Explanation, HoldOrder, Order } from '../workflows/messages.js';
import {
  abortSignal,
  abortUpdate,
  approveSignal,
  approveUpdate,
  expediteSignal,
  expediteUpdate,
  holdSignal,
  holdUpdate,
  rejectSignal,
  rejectUpdate,
  retrySignal,
  retryUpdate,
  rollbackSignal,
  rollbackUpdate,
} from '../workflows/messages.js';
import { UsageError } from './exit.js';
import { findWorkflow } from './find-workflow.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { defaultActor, ordered, withTemporal } from './temporal.js';

/** Orders to one running disruption, and what each does. */
export const orders = {
  approve: 'let a disruption that waits for approval go on',
  reject: 'answer no to a disruption that waits for approval',
  abort: 'end a disruption that can still be taken back; it leaves no taint',
  expedite: 'do not wait any longer; for a drain: end the protection of its pods',
  retry: 'try again at once what failed or waits',
  hold: 'stay before the next step that cannot be taken back; --off lets it go on',
  rollback: 'end the rollout of a NodePool, and give the pool its last good template again',
} as const;

export type OrderName = keyof typeof orders;

interface OrderOptions {
  readonly because?: string;
  readonly as: string;
  readonly within?: string;
  readonly off?: boolean;
  readonly wait: boolean;
}

/** `stowage approve|reject|abort|expedite|retry|hold WORKFLOW_OR_NODE`, `stowage rollback WORKFLOW_OR_NODEPOOL`. */
export async function order(name: OrderName, args: readonly string[]): Promise<string> {
  const subject = subjects[name === 'rollback' ? 'pool' : 'node'];
  const command = settingsCommand(`stowage ${name}`, orders[name], steeringSettings)
    .argument(subject.name, subject.description)
    .option('--because <text>', 'why')
    .option('--as <name>', 'who you are', defaultActor())
    .option('--no-wait', 'do not wait for the answer: the order takes effect once a worker runs');
  if (name === 'expedite') command.option('--within <duration>', 'the end at the latest, such as 5m; default now');
  if (name === 'hold') command.option('--off', 'let it go on');
  command.parse(args, { from: 'user' });
  const options = command.opts<OrderOptions>();
  const [given = ''] = command.args;
  const input = inputOf(name, options);
  return withTemporal(command, async (target) => {
    const workflowId = await findWorkflow(target, given, name);
    const handle = target.client.workflow.getHandle(workflowId);
    if (!options.wait) {
      await ordered(target, workflowId, () => handle.signal(signals[name], input));
      return `The order was sent to ${workflowId}.\n`;
    }
    const answer = await ordered(target, workflowId, () => handle.executeUpdate(updates[name], { args: [input] }));
    return `${said[name]} ${workflowId}\n${stateLine(answer)}\n`;
  });
}

const subjects = {
  node: {
    name: '<workflow-or-node>',
    description: 'workflow id, with or without the cluster, or the name of a node or NodeClaim',
  },
  pool: {
    name: '<workflow-or-nodepool>',
    description: 'workflow id of the rollout, with or without the cluster, or the name of the NodePool',
  },
} as const;

type Input = Order & Partial<ExpediteOrder & HoldOrder>;

const updates = {
  approve: approveUpdate,
  reject: rejectUpdate,
  abort: abortUpdate,
  expedite: expediteUpdate,
  retry: retryUpdate,
  hold: holdUpdate,
  rollback: rollbackUpdate,
} as unknown as Readonly<Record<OrderName, UpdateDefinition<Explanation, [Input]>>>;

const signals = {
  approve: approveSignal,
  reject: rejectSignal,
  abort: abortSignal,
  expedite: expediteSignal,
  retry: retrySignal,
  hold: holdSignal,
  rollback: rollbackSignal,
} as unknown as Readonly<Record<OrderName, SignalDefinition<[Input]>>>;

const said: Readonly<Record<OrderName, string>> = {
  approve: 'Approved',
  reject: 'Rejected',
  abort: 'Aborted',
  expedite: 'Hurried',
  retry: 'Tries again:',
  hold: 'Told',
  rollback: 'Rolled back',
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
