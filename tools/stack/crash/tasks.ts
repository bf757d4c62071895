import type { temporal } from '@temporalio/proto';
import proto from '@temporalio/proto';

const {
  PollActivityTaskQueueResponse,
  PollWorkflowTaskQueueResponse,
  RespondActivityTaskCompletedRequest,
  RespondActivityTaskFailedRequest,
  RespondWorkflowTaskCompletedRequest,
  RespondWorkflowTaskCompletedResponse,
} = proto.temporal.api.workflowservice.v1;

/** A task that a worker has. */
export interface Task {
  readonly workflowId: string;
  readonly workflowType: string;
  /** The last event of a workflow task; undefined for an activity. */
  readonly event?: number;
  readonly activity?: { readonly type: string; readonly id: string };
}

type ActivityTask = temporal.api.workflowservice.v1.IPollActivityTaskQueueResponse;
type WorkflowTask = temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse;

const tokenOf = (token: Uint8Array | null | undefined): string => Buffer.from(token ?? []).toString('base64');

/** Knows by the calls between a worker and Temporal which task each answer belongs to. */
export class Tasks {
  private readonly tasks = new Map<string, Task>();
  /** What workflows were started with, as text. */
  private readonly inputs = new Map<string, string>();

  inputOf(workflowId: string): string {
    return this.inputs.get(workflowId) ?? '';
  }

  /** Notes what the server hands out. */
  handedOut(method: string, answer: Buffer): void {
    if (method === 'PollWorkflowTaskQueue') this.addWorkflowTask(PollWorkflowTaskQueueResponse.decode(answer));
    if (method === 'PollActivityTaskQueue') this.addActivityTask(PollActivityTaskQueueResponse.decode(answer));
    if (method !== 'RespondWorkflowTaskCompleted') return;
    const { workflowTask, activityTasks } = RespondWorkflowTaskCompletedResponse.decode(answer);
    if (workflowTask !== null && workflowTask !== undefined) this.addWorkflowTask(workflowTask);
    for (const task of activityTasks) this.addActivityTask(task);
  }

  /** The task that a call of the worker answers, if it does. */
  answered(method: string, message: Buffer): Task | undefined {
    if (method === 'RespondWorkflowTaskCompleted')
      return this.find(RespondWorkflowTaskCompletedRequest.decode(message));
    if (method === 'RespondActivityTaskCompleted')
      return this.find(RespondActivityTaskCompletedRequest.decode(message));
    if (method === 'RespondActivityTaskFailed') return this.find(RespondActivityTaskFailedRequest.decode(message));
    return undefined;
  }

  private find({ taskToken }: { readonly taskToken: Uint8Array }): Task | undefined {
    return this.tasks.get(tokenOf(taskToken));
  }

  private addActivityTask({
    taskToken,
    workflowExecution,
    workflowType,
    activityType,
    activityId,
  }: ActivityTask): void {
    if (activityType?.name == null) return;
    this.tasks.set(tokenOf(taskToken), {
      workflowId: workflowExecution?.workflowId ?? '',
      workflowType: workflowType?.name ?? '',
      activity: { type: activityType.name, id: activityId ?? '' },
    });
  }

  private addWorkflowTask({ taskToken, workflowExecution, workflowType, startedEventId, history }: WorkflowTask): void {
    if (workflowType?.name == null) return;
    const workflowId = workflowExecution?.workflowId ?? '';
    const event = Number(startedEventId ?? 0);
    this.tasks.set(tokenOf(taskToken), { workflowId, workflowType: workflowType.name, event });
    const payloads = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
    const input = payloads?.map(({ data }) => Buffer.from(data ?? []).toString('utf8')).join();
    if (input !== undefined) this.inputs.set(workflowId, input);
  }
}
