import { createInterface } from 'node:readline/promises';
import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import type { Command } from 'commander';
import { DurationError, parseDuration } from '../core/durations.js';
import {
  abortSignal,
  abortUpdate,
  approveSignal,
  approveUpdate,
  type ExpediteOrder,
  expediteSignal,
  expediteUpdate,
  type Explanation,
  type HoldOrder,
  holdSignal,
  holdUpdate,
  type Order,
  refusals,
  rejectSignal,
  rejectUpdate,
  retrySignal,
  retryUpdate,
  rollbackSignal,
  rollbackUpdate,
} from '../workflows/messages.js';
import { authorise, onBehalfOption, rights } from './authorise.js';
import { UsageError } from './exit.js';
import { findWorkflow } from './find-workflow.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { ordered, RefusedError, withTemporal } from './temporal.js';
import { onOneLine, printable } from '../core/text.js';
import { timeText } from '../core/time.js';

/** Prompts the user for one line; null if stdin is not a terminal. */
type Ask = ((question: string) => Promise<string>) | null;

const terminal: Ask =
  process.stdin.isTTY && process.stderr.isTTY
    ? async (question) => {
        const lines = createInterface({ input: process.stdin, output: process.stderr });
        try {
          return await lines.question(question);
        } finally {
          lines.close();
        }
      }
    : null;

/**
 * Sends an order. If it is refused because pods would lose their protection, a user at a terminal may confirm by typing
 * the subject's name, and it is sent again with `force`. Otherwise throws the refusal.
 */
export async function orForced<T>(
  subject: string,
  send: (force: boolean) => Promise<T>,
  ask: Ask = terminal,
): Promise<T> {
  try {
    return await send(false);
  } catch (error) {
    if (!(error instanceof RefusedError) || error.type !== refusals.breaksProtection || ask === null) throw error;
    const typed = await ask(`${printable(error.message)}\nType "${subject}" to do it all the same: `);
    if (typed.trim() !== subject) throw new UsageError('nothing was done');
    return send(true);
  }
}

/** Orders for one running disruption. */
export type OrderName = 'approve' | 'reject' | 'abort' | 'expedite' | 'retry' | 'hold' | 'rollback';

interface OrderOptions {
  readonly because?: string;
  readonly as?: string;
  readonly within?: string;
  readonly off?: boolean;
  readonly force?: boolean;
  readonly wait: boolean;
}

export function orderCommand(name: OrderName): Command {
  const subject = subjects[name === 'rollback' ? 'pool' : 'node'];
  const command = settingsCommand(name, { only: steeringSettings })
    .argument(subject.name, subject.description)
    .option('--because <text>', 'why')
    .addOption(onBehalfOption())
    .option('--no-wait', 'do not wait for the answer: the order takes effect once a worker runs');
  if (name === 'expedite') command.option('--within <duration>', 'the end at the latest, such as 5m; default now');
  if (name === 'expedite' || name === 'approve')
    command.option('--force', 'even if pods lose the protection of a PodDisruptionBudget or of do-not-disrupt');
  if (name === 'hold') command.option('--off', 'release it');
  return command;
}

/** `stowage approve|reject|abort|expedite|retry|hold WORKFLOW_OR_NODE`, `stowage rollback WORKFLOW_OR_NODEPOOL`. */
export async function order(name: OrderName, args: readonly string[]): Promise<string> {
  const command = orderCommand(name);
  command.parse(args, { from: 'user' });
  const options = command.opts<OrderOptions>();
  const [given = ''] = command.args;
  const asked = inputOf(name, options);
  return withTemporal(command, async (target) => {
    const mayForce = (): Promise<string> => authorise(target, rights.force, options.as);
    const actor = await authorise(target, rights[name === 'rollback' ? 'rollback' : 'order'], options.as);
    if (options.force === true) await mayForce();
    const input = { ...asked, actor };
    const workflowId = await findWorkflow(target, given, name);
    const handle = target.client.workflow.getHandle(workflowId);
    if (!options.wait) {
      await ordered(target, workflowId, () => handle.signal(signals[name], input));
      return `The order was sent to ${workflowId}.\n`;
    }
    const send = (order: Input): Promise<Explanation> =>
      ordered(target, workflowId, () => handle.executeUpdate(updates[name], { args: [order] }));
    const answer = await orForced(given, async (force) => {
      if (force) await mayForce();
      return send(force ? { ...input, force } : input);
    });
    return `${saidOf(name, input)} ${workflowId}\n${stateLine(answer)}\n`;
  });
}

const subjects = {
  node: {
    name: '<workflow-or-node>',
    description:
      'workflow id, with or without the cluster, or the name of a node or NodeClaim, or of a NodePool for its rollout',
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
  expedite: 'Expedited',
  retry: 'Tries again:',
  hold: 'Holds',
  rollback: 'Rolled back',
};

const saidOf = (name: OrderName, { on }: Pick<Input, 'on'>): string => (on === false ? 'Released:' : said[name]);

function inputOf(name: OrderName, { because, within, off, force }: OrderOptions): Omit<Input, 'actor'> {
  const deadline = within === undefined ? undefined : Date.now() + lengthOf(within);
  return {
    ...(because === undefined ? {} : { reason: because }),
    ...(name === 'hold' ? { on: off !== true } : {}),
    ...(deadline === undefined ? {} : { deadline }),
    ...(force === true ? { force } : {}),
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

/** The state of the workflow after an order. */
export function stateLine(answer: Explanation): string {
  const { phase, waitingFor, until, facts } = onOneLine(answer);
  const wait =
    waitingFor === undefined
      ? ''
      : `, waits for ${waitingFor}${until === undefined ? '' : ` until ${timeText(until)}`}`;
  const [forced, ordered] = [facts['forced by'], facts['force ordered by']];
  const force = forced === undefined ? ordered && `\nForce ordered by ${ordered}` : `\nForced by ${forced}`;
  const held = facts['held by'] === undefined ? '' : `\nHeld by ${facts['held by']}`;
  return `Now: ${phase}${wait}${force ?? ''}${held}`;
}
