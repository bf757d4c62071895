import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';
import type { SimulatedTemporal } from './engine.js';
import type { StartOptions } from './engine-options.js';
import { mayReplace } from './commands.js';
import { fromPayload, toError, toPayloads } from './payloads.js';
import type { Run, RunStatus } from './run.js';
import { selectedBy } from './visibility.js';
import { timestampOf } from './durations.js';

interface StartInput extends Pick<StartOptions, 'typedSearchAttributes'> {
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args?: readonly unknown[];
  readonly workflowIdReusePolicy?: string;
}

interface SignalWithStartInput extends StartInput {
  readonly signal: string | SignalDefinition<never>;
  readonly signalArgs?: readonly unknown[];
}

type Named = string | SignalDefinition<never> | QueryDefinition<unknown, never> | UpdateDefinition<unknown, never>;

/** What a call of a client meets on its way. */
export interface Wire {
  /** Resolves when the call reaches the server; never for a process that has died. Rejects where the network fails. */
  carry(call: string): Promise<void>;
}

/**
 * A client of the simulated server, as much of it as Stowage uses. Every call goes over `wire`.
 */
export function simulatedClient(engine: SimulatedTemporal, wire: Wire): Client {
  const workflow = {
    start: async (type: string, input: StartInput) => {
      await wire.carry('start');
      const present = engine.find(input.workflowId);
      const policy = input.workflowIdReusePolicy === 'ALLOW_DUPLICATE_FAILED_ONLY' ? 2 : 0;
      if (present !== undefined && !mayReplace(present, policy)) {
        throw new WorkflowExecutionAlreadyStartedError('Workflow execution already started', input.workflowId, type);
      }
      engine.start(type, { ...input, args: input.args ?? [] });
    },
    signalWithStart: async (type: string, input: SignalWithStartInput) => {
      await wire.carry('signalWithStart');
      const present = engine.find(input.workflowId);
      const run = present?.isOpen === true ? present : engine.start(type, { ...input, args: input.args ?? [] });
      engine.signal(run, nameOf(input.signal), input.signalArgs ?? []);
    },
    getHandle: (workflowId: string, runId?: string) => handleOf(engine, wire, workflowId, runId),
    list: ({ query }: { query: string }) => listed(engine, wire, query),
  };
  const connection = { withDeadline: async <T>(_: unknown, call: () => Promise<T>): Promise<T> => call() };
  const workflowService = serviceOf(engine, wire);
  return { workflow, connection, workflowService, options: { namespace: 'default' } } as unknown as Client;
}

/** What is asked of the server's own API. */
function serviceOf(engine: SimulatedTemporal, wire: Wire): object {
  return {
    describeTaskQueue: async ({ taskQueue }: { taskQueue: { name: string } }) => {
      await wire.carry('describeTaskQueue');
      const pollers = engine.pollers.isPolled(taskQueue.name) ? [{ lastAccessTime: timestampOf(Date.now()) }] : [];
      return { pollers, stats: { approximateBacklogCount: 0 } };
    },
    getWorkflowExecutionHistoryReverse: async ({ execution }: { execution: Partial<Record<string, string>> }) => {
      await wire.carry('getWorkflowExecutionHistoryReverse');
      const run = engine.find(execution['workflowId'] ?? '', execution['runId']);
      const events =
        run?.failure === undefined ? [] : [{ workflowExecutionFailedEventAttributes: { failure: run.failure } }];
      return { history: { events } };
    },
  };
}

function handleOf(engine: SimulatedTemporal, wire: Wire, workflowId: string, runId?: string): object {
  const open = (): Run => {
    const run = engine.find(workflowId, runId);
    if (run?.isOpen !== true) throw new WorkflowNotFoundError('workflow not found', workflowId, runId);
    return run;
  };
  return {
    workflowId,
    signal: async (definition: Named, ...args: unknown[]) => {
      await wire.carry('signal');
      engine.signal(open(), nameOf(definition), args);
    },
    terminate: async () => {
      await wire.carry('terminate');
      engine.terminate(open());
    },
    cancel: async () => {
      await wire.carry('cancel');
      engine.requestCancel(open());
    },
    describe: async () => {
      await wire.carry('describe');
      const run = engine.find(workflowId, runId);
      if (run === undefined) throw new WorkflowNotFoundError('workflow not found', workflowId, runId);
      return new Described(run, {
        pendingActivities: engine.pendingActivities(run).map((task) => task.described()),
      });
    },
    query: async (definition: Named, ...args: unknown[]) => {
      await wire.carry('query');
      const run = engine.find(workflowId, runId);
      // Of closed runs nothing is kept to be replayed, as after the retention.
      if (run === undefined || (!run.isOpen && run.turns.length === 0))
        throw new WorkflowNotFoundError('workflow not found', workflowId, runId);
      return answerOf(engine, run, nameOf(definition), args);
    },
    executeUpdate: async (definition: Named, { args = [] }: { args?: readonly unknown[] } = {}) => {
      await wire.carry('update');
      return engine.update(open(), nameOf(definition), args);
    },
  };
}

async function answerOf(
  engine: SimulatedTemporal,
  run: Run,
  queryType: string,
  args: readonly unknown[],
): Promise<unknown> {
  const job = { queryWorkflow: { queryId: 'query', queryType, arguments: toPayloads(args) } };
  const [command] = await engine.ask(run, job);
  const { succeeded, failed } = command?.respondToQuery ?? {};
  if (failed) throw toError(failed);
  return fromPayload(succeeded?.response);
}

async function* listed(engine: SimulatedTemporal, wire: Wire, query: string): AsyncGenerator<object> {
  await wire.carry('list');
  const isSelected = selectedBy(query);
  for (const run of [...engine.all]) if (isSelected(run)) yield new Described(run);
}

/** The server's description of a run at the time of the call; expensive fields are computed when they are read. */
class Described {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly taskQueue: string;
  readonly status: { readonly name: RunStatus };
  readonly historyLength: number;
  private readonly closedAt: number | undefined;

  constructor(
    private readonly run: Run,
    readonly raw: object = {},
  ) {
    const { workflowId, runId, workflowType, taskQueue } = run.start;
    this.workflowId = workflowId;
    this.runId = runId;
    this.type = workflowType;
    this.taskQueue = taskQueue;
    this.status = { name: run.status };
    this.historyLength = run.historyLength;
    this.closedAt = run.closedAt;
  }

  get startTime(): Date {
    return this.run.startTime;
  }

  get closeTime(): Date | undefined {
    return this.closedAt === undefined ? undefined : new Date(this.closedAt);
  }

  get memo(): object {
    return { ...this.run.memo };
  }

  get searchAttributes(): object {
    return Object.fromEntries([...this.run.attributes].map(([name, value]) => [name, [value]]));
  }

  get typedSearchAttributes(): { readonly get: (key: { readonly name: string }) => unknown } {
    const { attributes } = this.run;
    return { get: ({ name }) => attributes.get(name) ?? undefined };
  }
}

const nameOf = (definition: Named): string => (typeof definition === 'string' ? definition : definition.name);
