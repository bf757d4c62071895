import { parseWorkflowId } from '../../core/ids.js';
import { pauseScopeText } from '../../core/pause-scope.js';
import { attributeOf, callOf, fieldsOf, textOr } from '../history/read-fields.js';
import type { Run, Step } from '../history/records.js';
import type {
  MeasureSavingsInput,
  Order,
  PauseScope,
  ReconsiderOrder,
  SavingsMeasured,
} from '../../workflows/messages.js';
import type { Forced, Measured, OrderGiven } from './activity.js';

/** Orders of users and measured savings, from histories. */
export interface ReportedOrders {
  readonly orders: readonly OrderGiven[];
  readonly forced: readonly Forced[];
  readonly measured: readonly Measured[];
}

const orders: ReadonlySet<string> = new Set([
  ...['approve', 'reject', 'abort', 'expedite', 'retry', 'hold', 'rollback'],
  ...['pause', 'resume', 'reconsider'],
]);

/** The content of these runs since `since`, milliseconds since the epoch; oldest first. */
export function ordersIn(runs: readonly Run[], since: number): ReportedOrders {
  const byTime = <T extends { readonly at: string }>(all: readonly T[]): T[] =>
    all.filter(({ at }) => Date.parse(at) >= since).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return {
    orders: byTime(runs.flatMap((run) => run.steps.flatMap((step) => orderOf(step, run)))),
    forced: byTime(runs.flatMap((run) => run.steps.flatMap((step) => forcedOf(step, run)))),
    measured: runs.flatMap((run) => measuredOf(run, since)),
  };
}

/** Orders from workflows to each other have no actor. */
function orderOf(step: Step, run: Run): OrderGiven[] {
  if (step.is !== 'message' || !orders.has(step.name)) return [];
  const { actor, reason, force } = fieldsOf<Order>(step.input);
  if (typeof actor !== 'string') return [];
  return [
    {
      at: timeOf(step),
      order: nameOf(step.name, step.input),
      by: actor,
      because: textOr(reason, ''),
      isForced: force === true,
      about: scopeOf(step.input) ?? subjectOf(run),
      workflowId: run.workflowId,
    },
  ];
}

const nameOf = (name: string, input: unknown): string =>
  name === 'hold' && fieldsOf<{ on: boolean }>(input).on === false ? 'release' : name;

/** The subject of an order to `disrupt`. */
function scopeOf(input: unknown): string | undefined {
  const { scope, node, nodePool, all } = fieldsOf<ReconsiderOrder & { scope: PauseScope }>(input);
  if (scope !== undefined && typeof fieldsOf<PauseScope>(scope).kind === 'string') return pauseScopeText(scope);
  if (typeof node === 'string') return `node ${node}`;
  if (typeof nodePool === 'string') return `NodePool ${nodePool}`;
  return all === true ? 'all that was refused' : undefined;
}

/** The subject of the workflow: its NodeClaim, its nodes or its NodePool. */
function subjectOf({ steps, workflowId }: Run): string {
  const claim = lastOf(steps, 'nodeClaim');
  if (claim !== '') return `NodeClaim ${claim}`;
  const [started] = steps;
  const nodes = started?.is === 'started' ? nodesIn(started.input) : [];
  if (nodes.length > 0) return nodes.join(', ');
  const nodePool = lastOf(steps, 'nodePool');
  return nodePool === '' ? workflowId : `NodePool ${nodePool}`;
}

function nodesIn(input: unknown): string[] {
  const { candidates } = fieldsOf<{ candidates: unknown }>(input);
  if (!Array.isArray(candidates)) return [];
  return candidates.flatMap((one) => {
    const { node } = fieldsOf<{ node: string }>(one);
    return typeof node === 'string' ? [node] : [];
  });
}

const forcedText = /^Drain forced by (.*): (deleted .*)$/s;

function forcedOf(step: Step, { steps, workflowId }: Run): Forced[] {
  const event = callOf<{ reason: string; message: string }, object>(step, 'publishDisruption')?.input;
  if (event?.reason !== 'DrainForced') return [];
  const message = textOr(event.message, '');
  const [, by = '', what = message] = forcedText.exec(message) ?? [];
  const of = { nodePool: lastOf(steps, 'nodePool'), nodeClaim: lastOf(steps, 'nodeClaim') };
  return [{ at: timeOf(step), ...of, by, what, workflowId }];
}

/** The last measurement counts. */
function measuredOf({ workflowId, steps }: Run, since: number): Measured[] {
  if (parseWorkflowId(workflowId)?.kind !== 'savings') return [];
  const looks = steps.flatMap((step) => {
    const call = callOf<MeasureSavingsInput, SavingsMeasured>(step, 'measureCommand');
    return call === undefined ? [] : [{ at: step.at, ...call }];
  });
  const last = looks.at(-1);
  if (last === undefined || last.at < since) return [];
  const { nodes, reason, id } = last.input.command ?? {};
  return [
    {
      workflowId: textOr(id, workflowId),
      reason: textOr(reason, '').toLowerCase(),
      nodes: nodes ?? [],
      afterMs: last.result.afterMs ?? 0,
      predictedPerHour: last.result.predicted ?? 0,
      realisedPerHour: last.result.realised ?? 0,
    },
  ];
}

const timeOf = ({ at }: Step): string => new Date(at).toISOString();

function lastOf(steps: readonly Step[], key: 'nodeClaim' | 'nodePool'): string {
  return steps.map((step) => attributeOf(step, key)).findLast((value) => typeof value === 'string') ?? '';
}
