import { abortSignal, approveSignal, expediteSignal, holdSignal } from '../../../../workflows/messages.js';
import { rejectSignal, retrySignal, rollbackSignal } from '../../../../workflows/messages.js';
import { parseWorkflowId } from '../../../../core/ids.js';
import type { Run } from '../../temporal/run.js';
import type { Stage } from '../stage.js';

const person = { actor: 'ann', reason: 'to be looked at' };
/** None of them takes the protection of pods: that would end what must not be disrupted. */
const orders = [approveSignal, rejectSignal, abortSignal, retrySignal, expediteSignal, rollbackSignal];
/** What people and programs send by mistake. */
const nonsense: readonly unknown[] = [null, 'now', 42, [], {}, { actor: '' }, { actor: 7, reason: {} }];
/** Workflows that are about something that people give orders to. */
const obeying: ReadonlySet<string> = new Set(['consolidate', 'drift', 'expire', 'terminate', 'repair', 'interrupt']);

const openRuns = ({ temporal }: Stage): readonly Run[] =>
  [...temporal.all].filter(({ isOpen, id }) => isOpen && obeying.has(parseWorkflowId(id)?.kind ?? ''));

/** A user gives an order to a workflow, which may refuse it. */
export function giveOrder(stage: Stage): void {
  const { random, temporal, invariants } = stage;
  const open = openRuns(stage);
  if (open.length === 0) return;
  const order = random.pick(orders);
  if (order === approveSignal) invariants.rules.excuse();
  temporal.signal(random.pick(open), order.name, [person]);
}

/** A user holds a workflow, and releases it after so long. */
export function hold(stage: Stage, forMs: number): void {
  const { random, temporal, later } = stage;
  const open = openRuns(stage);
  if (open.length === 0) return;
  const run = random.pick(open);
  temporal.signal(run, holdSignal.name, [{ ...person, on: true }]);
  later(forMs, () => {
    // It may have gone on in a new run.
    const now = temporal.find(run.id);
    if (now?.isOpen === true) temporal.signal(now, holdSignal.name, [{ ...person, on: false }]);
  });
}

/** Releases all held workflows: a restored Temporal may have brought back a hold that was lifted. */
export function liftHolds(stage: Stage): void {
  for (const run of openRuns(stage)) stage.temporal.signal(run, holdSignal.name, [{ ...person, on: false }]);
}

/** Any open workflow is sent what it cannot read. */
export function sendNonsense({ random, temporal }: Stage): void {
  const open = [...temporal.all].filter(({ isOpen }) => isOpen);
  if (open.length === 0) return;
  const signal = random.pick([...orders, holdSignal]);
  temporal.signal(random.pick(open), signal.name, [random.pick(nonsense)]);
}
