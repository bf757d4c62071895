import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import { simulatedClient } from '../simulation/temporal/client.js';
import type { SimulatedTemporal } from '../simulation/temporal/engine.js';
import { fromPayload, toError } from '../simulation/temporal/payloads.js';
import type { Run } from '../simulation/temporal/run.js';
import type { Clockwork } from './clockwork.js';
import { historyOf } from './simulated-history.js';

type Start = Client['workflow']['start'];
type SignalWithStart = Client['workflow']['signalWithStart'];
type Args = readonly unknown[];

/** A client of the simulated server that lets time go on while it waits for an answer. */
export function drivenClient(temporal: SimulatedTemporal, clockwork: Clockwork): Client {
  const client = simulatedClient(temporal, { carry: () => Promise.resolve() });
  const { workflow } = client;
  const getHandle = (workflowId: string, runId?: string): WorkflowHandle =>
    drivenHandle(temporal, clockwork, workflow.getHandle(workflowId, runId), runId);
  const start = async (...[type, options]: Parameters<Start>): Promise<object> => {
    await workflow.start(type, options);
    const { runId } = temporal.find(options.workflowId)!.start;
    return Object.assign(getHandle(options.workflowId), { firstExecutionRunId: runId });
  };
  const signalWithStart = async (...[type, options]: Parameters<SignalWithStart>): Promise<object> => {
    await workflow.signalWithStart(type, options);
    const { runId } = temporal.find(options.workflowId)!.start;
    return Object.assign(getHandle(options.workflowId), { signaledRunId: runId });
  };
  return {
    connection: client.connection,
    options: client.options,
    workflow: { getHandle, start, signalWithStart },
    workflowService: { signalWorkflowExecution: rawSignal(temporal) },
  } as unknown as Client;
}

function drivenHandle(
  temporal: SimulatedTemporal,
  clockwork: Clockwork,
  handle: WorkflowHandle,
  runId: string | undefined,
): WorkflowHandle {
  const { workflowId } = handle;
  const find = (): Run => {
    const run = temporal.find(workflowId, runId);
    if (run === undefined) throw new WorkflowNotFoundError('workflow not found', workflowId, runId);
    return run;
  };
  const query = handle.query.bind(handle) as (...args: Args) => Promise<unknown>;
  const update = handle.executeUpdate.bind(handle) as (...args: Args) => Promise<unknown>;
  const driven = {
    ...handle,
    // A server answers once the workflow has dealt with what came before.
    query: async (...args: Args) => {
      await clockwork.until(() => !find().isOpen || !find().hasTask);
      return query(...args);
    },
    executeUpdate: async (...args: Args) => clockwork.during(update(...args)),
    result: async () => resultOf(temporal, clockwork, find()),
    fetchHistory: () => Promise.resolve(historyOf(find(), temporal.problems)),
  };
  return driven as unknown as WorkflowHandle;
}

/** What a workflow comes to, in whichever run of it. */
async function resultOf(temporal: SimulatedTemporal, clockwork: Clockwork, first: Run): Promise<unknown> {
  let run = first;
  for (;;) {
    await clockwork.until(isOver(run), { skips: true });
    const next = temporal.history.find(({ id, start }) => id === run.id && start.continuedFrom === run.start.runId);
    if (run.status !== 'CONTINUED_AS_NEW' || next === undefined) break;
    run = next;
  }
  const { NON_RETRYABLE_FAILURE } = RetryState;
  if (run.status === 'COMPLETED') return fromPayload(run.result);
  if (run.status === 'FAILED')
    throw new WorkflowFailedError('Workflow execution failed', toError(run.failure ?? {}), NON_RETRYABLE_FAILURE);
  const isCancelled = run.status === 'CANCELLED';
  const cause = isCancelled ? new CancelledFailure('Workflow canceled') : new TerminatedFailure('terminated');
  throw new WorkflowFailedError(`Workflow execution ${run.status.toLowerCase()}`, cause, NON_RETRYABLE_FAILURE);
}

const isOver = (run: Run) => (): boolean => !run.isOpen;

interface RawSignal {
  readonly workflowExecution: { readonly workflowId: string };
  readonly signalName: string;
  readonly input: { readonly payloads: Run['start']['args'] };
}

const rawSignal =
  (temporal: SimulatedTemporal) =>
  ({ workflowExecution, signalName, input }: RawSignal): Promise<void> => {
    const run = temporal.find(workflowExecution.workflowId);
    if (run !== undefined) temporal.add(run, { signalWorkflow: { signalName, input: [...input.payloads] } });
    return Promise.resolve();
  };
