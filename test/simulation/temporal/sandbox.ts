import vm from 'node:vm';
import { TypedSearchAttributes } from '@temporalio/common';
import type { coresdk } from '@temporalio/proto';
import type { WorkflowInfo } from '@temporalio/workflow';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
import { bytesOf } from './seed-bytes.js';
import { timestampOf } from './durations.js';

export type Job = coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = coresdk.workflow_commands.IWorkflowCommand;

/** What a worker hands to a workflow in one workflow task. */
export interface Activation {
  /** Milliseconds of the epoch: what the workflow takes for now. */
  readonly at: number;
  readonly jobs: readonly Job[];
  readonly historyLength: number;
  /** The SDK's own switches that earlier tasks of the run used: a replay must use the same. */
  readonly flags: readonly number[];
}

/** How a workflow answered: its commands, or why its task failed. */
type Answer =
  { readonly commands: readonly Command[]; readonly flags: readonly number[] } | { readonly failed: string };

/** Who a run is, as far as its code may know. */
export interface RunIdentity {
  readonly workflowId: string;
  readonly runId: string;
  /** Another one than `runId` once the run was reset. */
  readonly originalRunId: string;
  readonly workflowType: string;
  readonly taskQueue: string;
  readonly startedAt: number;
  readonly firstRunId: string;
  readonly continuedFrom: string | undefined;
  readonly parent: { readonly workflowId: string; readonly runId: string } | undefined;
  /** The search attributes that it started with, by name. */
  readonly attributes: ReadonlyMap<string, unknown>;
  /** For the random numbers and UUIDs that the workflow draws. */
  readonly seed: number;
}

/** The code of a run and all of its state, as a worker caches it. */
export interface Sandbox {
  activate(activation: Activation, isReplaying: boolean): Promise<Answer>;
  dispose(): Promise<void>;
}

/** Where an error came from is not read, and costs a tenth of a run. On the bundle's first line, so that all lines keep their numbers. */
const withoutStacks = 'Error.stackTraceLimit = 0; ';

/**
 * The real workflow code on the SDK's own workflow runtime, as a worker runs it, in its own V8 context: what `Core`
 * and the server do is simulated (engine.ts), what the SDK and the workflows do is not.
 */
export class SandboxFactory {
  private readonly creator: ReusableVMWorkflowCreator;

  /** `code` is what `bundleWorkflowCode` gives. */
  constructor(code: string) {
    const bundle = parseWorkflowCode(code);
    const script = new vm.Script(`${withoutStacks}${bundle.code}`, { filename: bundle.filename });
    // Not by `create`: it hooks every promise of the process for stack traces, which are not needed here. Without a time limit,
    // because each call would start a thread to watch it.
    const noTimeLimit = undefined as unknown as number;
    // Local activities of every name are registered.
    this.creator = new ReusableVMWorkflowCreator(script, bundle, noTimeLimit, new Set(['default']));
  }

  async create(run: RunIdentity): Promise<Sandbox> {
    const workflow = await this.creator.createWorkflow({
      info: infoOf(run),
      randomnessSeed: bytesOf(run.seed),
      now: run.startedAt,
      showStackTraceSources: false,
    });
    return {
      activate: async ({ at, jobs, historyLength, flags }, isReplaying) => {
        const completion = await workflow.activate({
          runId: run.runId,
          timestamp: timestampOf(at),
          isReplaying,
          historyLength,
          availableInternalFlags: flags,
          jobs: jobs.map(named),
        } as unknown as coresdk.workflow_activation.WorkflowActivation);
        // What the workflow logged.
        await workflow.getAndResetSinkCalls();
        const { successful, failed } = completion;
        if (successful) return { commands: successful.commands ?? [], flags: successful.usedInternalFlags ?? [] };
        return { failed: failed?.failure?.message ?? 'the workflow task failed' };
      },
      dispose: () => workflow.dispose(),
    };
  }
}

let last: { readonly code: string; readonly factory: SandboxFactory } | undefined;

/**
 * The factory of a code, one for as long as the code is the same: Node keeps each V8 context that has its own microtask queue for as
 * long as the process lives, ten megabytes of it.
 */
export function sandboxesOf(code: string): SandboxFactory {
  if (last?.code !== code) last = { code, factory: new SandboxFactory(code) };
  return last.factory;
}

type WireJob = coresdk.workflow_activation.WorkflowActivationJob;

/** As the SDK reads it off the wire: by the name of the one thing that it says. */
const named = (job: Job): Job & Pick<WireJob, 'variant'> => ({
  ...job,
  variant: Object.keys(job)[0] as WireJob['variant'],
});

function infoOf(run: RunIdentity): WorkflowInfo {
  const { workflowId, runId, originalRunId, workflowType, taskQueue, firstRunId, continuedFrom, parent } = run;
  const started = new Date(run.startedAt);
  const unsafe = { isReplaying: false, isReplayingHistoryEvents: false } as WorkflowInfo['unsafe'];
  return {
    workflowId,
    runId,
    workflowType,
    taskQueue,
    namespace: 'default',
    searchAttributes: {},
    // Those that it started with are in the activation.
    typedSearchAttributes: new TypedSearchAttributes(),
    parent: parent === undefined ? undefined : { ...parent, namespace: 'default' },
    root: undefined,
    firstExecutionRunId: firstRunId,
    originalExecutionRunId: originalRunId,
    continuedFromExecutionRunId: continuedFrom,
    startTime: started,
    runStartTime: started,
    taskTimeoutMs: 10_000,
    attempt: 1,
    historyLength: 0,
    historySize: 0,
    continueAsNewSuggested: false,
    currentBuildId: '',
    unsafe,
    priority: {},
  } as unknown as WorkflowInfo;
}
