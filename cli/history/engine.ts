import type { Client } from '@temporalio/client';
import { millisecondsOf } from '../../core/time.js';
import { searchAttributes } from '../../workflows/messages.js';
import { decodeHistory, type HistoryEvent } from './decode.js';
import { decrypted } from './decrypt.js';
import type { RunRef, Step } from './records.js';

/** A run as Temporal's visibility store lists it. */
export interface Listed extends RunRef {
  /** Empty if the workflow has no such search attribute. */
  readonly nodeClaim: string;
  readonly instanceId: string;
}

/** Access to Temporal for reading a node's life. */
export interface Engine {
  /** Newest first, at most `most`. */
  list(query: string, most: number): Promise<readonly Listed[]>;
  /** Every step of a run. */
  steps(run: RunRef): Promise<readonly Step[]>;
  /** Only the first step. */
  firstStep(run: RunRef): Promise<Step | undefined>;
  /** Only the last step, of a closed run. */
  lastStep(run: RunRef): Promise<Step | undefined>;
  /** Retention of closed workflows, milliseconds; undefined if unknown. */
  retentionMs(): Promise<number | undefined>;
}

/** HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT */
const closeEvent = 2;

export function temporalEngine(client: Client): Engine {
  const { namespace, loadedDataConverter } = client.options;
  const read = async (found: readonly HistoryEvent[]): Promise<readonly Step[]> =>
    decodeHistory(await decrypted(found, loadedDataConverter.payloadCodecs));
  const events = async ({ workflowId, runId }: RunRef, more: object): Promise<readonly Step[]> => {
    const { history } = await client.workflowService.getWorkflowExecutionHistory({
      ...{ namespace, execution: { workflowId, runId } },
      ...more,
    });
    return read(history?.events ?? []);
  };
  return {
    async list(query, most) {
      const found: Listed[] = [];
      for await (const { workflowId, runId, typedSearchAttributes } of client.workflow.list({ query })) {
        if (found.length >= most) break;
        const textOf = (key: 'nodeClaim' | 'instanceId'): string =>
          typedSearchAttributes.get(searchAttributes[key]) ?? '';
        found.push({ workflowId, runId, nodeClaim: textOf('nodeClaim'), instanceId: textOf('instanceId') });
      }
      return found;
    },
    async steps({ workflowId, runId }) {
      const { events: all } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      return read(all ?? []);
    },
    firstStep: async (run) => (await events(run, { maximumPageSize: 1 }))[0],
    lastStep: async (run) => (await events(run, { historyEventFilterType: closeEvent })).at(-1),
    async retentionMs() {
      const { config } = await client.workflowService.describeNamespace({ namespace });
      return millisecondsOf(config?.workflowExecutionRetentionTtl);
    },
  };
}
