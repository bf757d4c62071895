import { millisOf } from './durations.js';
import { fromPayload } from './payloads.js';
import type { BilledAction, Failure, Run, RunStart, RunStatus } from './run.js';
import type { Command, Job } from './sandbox.js';

/** What the server does for a run's commands. */
export interface CommandHost {
  latencyMs(): number;
  /** Notes an action of Temporal Cloud. */
  bill(action: BilledAction, run: Run, name?: string): void;
  find(workflowId: string, runId?: string): Run | undefined;
  begin(start: Pick<RunStart, 'workflowId' | 'workflowType' | 'taskQueue' | 'args'> & Partial<RunStart>): Run;
  add(run: Run, job: Job): void;
  /** A signal: it outlives a reset of the run. */
  deliver(run: Run, job: Job): void;
  close(run: Run, status: RunStatus): void;
  requestCancel(run: Run): void;
  schedule(run: Run, command: NonNullable<Command['scheduleActivity']>): unknown;
  cancelActivity(run: Run, seq: number): void;
  answered(response: NonNullable<Command['updateResponse']>): void;
}

type Commands = { readonly [K in keyof Command]?: NonNullable<Command[K]> };
type Handlers = {
  readonly [K in keyof Commands]?: (engine: CommandHost, run: Run, command: NonNullable<Commands[K]>) => void;
};

/** Enum values of the wire format. */
const parentClosePolicies = ['terminate', 'terminate', 'abandon', 'cancel'] as const;
const alreadyExists = 1;
const reuse = { failedOnly: 2, reject: 3 } as const;

const handlers: Handlers = {
  startTimer: (engine, run, { seq, startToFireTimeout }) => {
    const number = seq ?? 0;
    run.historyLength += 1;
    engine.bill('timer', run);
    startTimer(engine, run, number, Date.now() + (millisOf(startToFireTimeout) ?? 0));
  },
  cancelTimer: (_, run, { seq }) => {
    clearTimeout(run.timers.get(seq ?? 0)?.handle);
    run.timers.delete(seq ?? 0);
    // One that fired during this very task: the server takes it back.
    run.jobs = run.jobs.filter(({ fireTimer }) => fireTimer?.seq !== seq);
    run.historyLength += 1;
  },
  scheduleActivity: (engine, run, command) => engine.schedule(run, command),
  // In the worker that has the workflow task. Temporal Cloud bills its marker.
  scheduleLocalActivity: (engine, run, command) => engine.schedule(run, { ...command, taskQueue: run.start.taskQueue }),
  requestCancelActivity: (engine, run, { seq }) => engine.cancelActivity(run, seq ?? 0),
  requestCancelLocalActivity: (engine, run, { seq }) => engine.cancelActivity(run, seq ?? 0),
  startChildWorkflowExecution: startChild,
  cancelChildWorkflowExecution: (engine, run, { childWorkflowSeq }) => {
    const child = run.children.get(childWorkflowSeq ?? 0);
    if (child?.isOpen === true) engine.requestCancel(child);
  },
  signalExternalWorkflowExecution: (engine, run, command) => {
    const { seq, workflowExecution, childWorkflowId, signalName, args } = command;
    const id = workflowExecution?.workflowId ?? childWorkflowId ?? '';
    onItsWay(engine, run, { signalExternalWorkflowExecution: command }, () => {
      const target = engine.find(id, workflowExecution?.runId ?? undefined);
      const isTaken = target?.isOpen === true;
      if (isTaken) engine.deliver(target, { signalWorkflow: { signalName, input: args ?? [] } });
      const failure = isTaken ? undefined : notFound(id);
      engine.add(run, { resolveSignalExternalWorkflow: { seq, ...(failure === undefined ? {} : { failure }) } });
    });
  },
  requestCancelExternalWorkflowExecution: (engine, run, { seq, workflowExecution }) => {
    const id = workflowExecution?.workflowId ?? '';
    const target = engine.find(id);
    if (target?.isOpen === true) engine.requestCancel(target);
    const failure = target?.isOpen === true ? undefined : notFound(id);
    const job = { seq, ...(failure === undefined ? {} : { failure }) };
    engine.add(run, { resolveRequestCancelExternalWorkflow: job });
  },
  upsertWorkflowSearchAttributes: (engine, run, { searchAttributes }) => {
    engine.bill(
      'search attributes',
      run,
      Object.keys(searchAttributes?.indexedFields ?? {})
        .sort()
        .join(),
    );
    run.historyLength += 1;
    for (const [name, payload] of Object.entries(searchAttributes?.indexedFields ?? {})) {
      run.attributes.set(name, fromPayload(payload));
    }
  },
  modifyWorkflowProperties: (engine, run, { upsertedMemo }) => {
    engine.bill('memo', run);
    run.historyLength += 1;
    for (const [name, payload] of Object.entries(upsertedMemo?.fields ?? {})) run.memo[name] = fromPayload(payload);
  },
  setPatchMarker: (engine, run) => {
    engine.bill('patch marker', run);
    // The marker, and the search attribute by which runs of a patch are found.
    run.historyLength += 2;
  },
  completeWorkflowExecution: (engine, run, { result }) => {
    run.result = result ?? undefined;
    engine.close(run, 'COMPLETED');
    notifyParent(engine, run, { completed: { result } });
  },
  failWorkflowExecution: (engine, run, { failure }) => {
    run.failure = failure ?? undefined;
    engine.close(run, 'FAILED');
    notifyParent(engine, run, { failed: { failure: childFailure(run, failure ?? {}) } });
  },
  cancelWorkflowExecution: (engine, run) => {
    engine.close(run, 'CANCELLED');
    const cause = { message: 'Workflow cancelled', canceledFailureInfo: {} };
    notifyParent(engine, run, { cancelled: { failure: childFailure(run, cause) } });
  },
  continueAsNewWorkflowExecution: (engine, run, command) => {
    const { start } = run;
    engine.close(run, 'CONTINUED_AS_NEW');
    const next = engine.begin({
      ...start,
      workflowType: command.workflowType ?? start.workflowType,
      taskQueue: command.taskQueue ?? start.taskQueue,
      args: command.arguments ?? [],
      continuedFrom: start.runId,
      attributes: new Map(run.attributes),
    });
    const parent = parentOf(engine, run);
    if (parent !== undefined && start.parentSeq !== undefined) parent.children.set(start.parentSeq, next);
  },
  updateResponse: (engine, _, response) => engine.answered(response),
};

/** Does what the code of a run asks for in one command. */
export function carryOut(engine: CommandHost, run: Run, command: Command): void {
  for (const [kind, body] of Object.entries(command)) {
    const handler = handlers[kind as keyof Handlers] as
      ((engine: CommandHost, run: Run, body: unknown) => void) | undefined;
    if (body !== null && body !== undefined) handler?.(engine, run, body);
  }
}

function startChild(engine: CommandHost, run: Run, command: NonNullable<Command['startChildWorkflowExecution']>): void {
  const { seq, workflowId, workflowType, taskQueue, input, parentClosePolicy, workflowIdReusePolicy } = command;
  const fields = Object.entries(command.searchAttributes?.indexedFields ?? {});
  const number = seq ?? 0;
  run.historyLength += 1;
  onItsWay(engine, run, { startChildWorkflowExecution: command }, () => {
    if (!run.isOpen) return;
    const present = engine.find(workflowId ?? '');
    if (present !== undefined && !mayReplace(present, workflowIdReusePolicy ?? 0)) {
      const failed = { workflowId, workflowType, cause: alreadyExists };
      engine.add(run, { resolveChildWorkflowExecutionStart: { seq: number, failed } });
      return;
    }
    const child = engine.begin({
      workflowId: workflowId ?? '',
      workflowType: workflowType ?? '',
      taskQueue: taskQueue ?? '',
      args: input ?? [],
      attributes: new Map(fields.map(([name, payload]) => [name, fromPayload(payload)])),
      parent: { workflowId: run.id, runId: run.start.runId },
      parentSeq: number,
      whenParentCloses: parentClosePolicies[parentClosePolicy ?? 0],
    });
    run.children.set(number, child);
    engine.bill('child', child);
    engine.add(run, { resolveChildWorkflowExecutionStart: { seq: number, succeeded: { runId: child.start.runId } } });
  });
}

/** Whether a workflow of an id that was used may be started again. */
export function mayReplace(present: Run, policy: number): boolean {
  if (present.isOpen || policy === reuse.reject) return false;
  return policy !== reuse.failedOnly || present.status !== 'COMPLETED';
}

function parentOf(engine: CommandHost, run: Run): Run | undefined {
  const { parent } = run.start;
  if (parent === undefined) return undefined;
  const latest = engine.find(parent.workflowId);
  // A reset takes its children along.
  return latest?.start.originalRunId === parent.runId ? latest : engine.find(parent.workflowId, parent.runId);
}

function notifyParent(engine: CommandHost, run: Run, result: object): void {
  const parent = parentOf(engine, run);
  const { parentSeq } = run.start;
  // One that was reset to a time before it started the child hears nothing of it.
  if (parent === undefined || parentSeq === undefined || parent.children.get(parentSeq)?.id !== run.id) return;
  engine.add(parent, { resolveChildWorkflowExecution: { seq: parentSeq, result } });
}

/** Reports to the parent that a run was terminated. */
export function reportTerminated(engine: CommandHost, run: Run): void {
  const cause = { message: 'Workflow execution terminated', terminatedFailureInfo: {} };
  notifyParent(engine, run, { failed: { failure: childFailure(run, cause) } });
}

function childFailure(run: Run, cause: Failure): Failure {
  const { workflowId, runId, workflowType } = run.start;
  const childWorkflowExecutionFailureInfo = {
    workflowExecution: { workflowId, runId },
    workflowType: { name: workflowType },
  };
  return { message: 'Child Workflow execution failed', source: 'Server', cause, childWorkflowExecutionFailureInfo };
}

const notFound = (id: string): Failure => ({
  message: `no open workflow ${id}`,
  source: 'Server',
  applicationFailureInfo: { type: 'NotFound', nonRetryable: true },
});

/** What a run has asked for and takes its time to arrive; a backup of the server has it arrive again. */
function onItsWay(engine: CommandHost, run: Run, command: Command, arrive: () => void): void {
  run.underway.add(command);
  setTimeout(() => {
    // A run that has closed meanwhile, or is at an earlier state, has nothing on its way.
    if (run.underway.delete(command)) arrive();
  }, engine.latencyMs());
}

/** Node's timers reach 24 days. */
const longestMs = 2 ** 31 - 1;

/** Begins a timer of a run that is due at `dueAt`, milliseconds of the epoch. */
export function startTimer(engine: Pick<CommandHost, 'add'>, run: Run, seq: number, dueAt: number): void {
  const rest = dueAt - Date.now();
  const fire = (): void => {
    run.timers.delete(seq);
    engine.add(run, { fireTimer: { seq } });
  };
  const step = rest > longestMs ? (): void => startTimer(engine, run, seq, dueAt) : fire;
  run.timers.set(seq, { handle: setTimeout(step, Math.min(rest, longestMs)), dueAt });
}
