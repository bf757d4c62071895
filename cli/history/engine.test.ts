import { describe, expect, test } from '@jest/globals';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { searchAttributes } from '../../workflows/messages.js';
import { decodeHistory, temporalEngine } from './engine.js';
import { timestampOf } from '../../test/simulation/temporal/durations.js';

const run = { workflowId: 'c/launch/1', runId: 'r-1' };

/** A Temporal with one run, which notes what it is asked. */
function stub(): { readonly client: Client; readonly asked: object[] } {
  const asked: object[] = [];
  const values = new Map<unknown, string>([[searchAttributes.nodeClaim, 'a-1']]);
  const listed = { ...run, typedSearchAttributes: { get: (key: unknown) => values.get(key) } };
  const events = [
    {
      eventTime: timestampOf(5000),
      workflowExecutionCompletedEventAttributes: {
        result: { payloads: [defaultPayloadConverter.toPayload({ outcome: 'initialized' })] },
      },
    },
  ];
  const client = {
    options: { namespace: 'ns', loadedDataConverter: { payloadCodecs: [] } },
    workflow: { list: ({ query }: { query: string }) => (asked.push({ query }), [listed, listed, listed]) },
    workflowService: {
      getWorkflowExecutionHistory: async (request: object) => {
        asked.push(request);
        return Promise.resolve({ history: { events } });
      },
      describeNamespace: async () =>
        Promise.resolve({ config: { workflowExecutionRetentionTtl: timestampOf(86_400_000) } }),
    },
  };
  return { client: client as unknown as Client, asked };
}

describe('history: reading Temporal', () => {
  test('lists no more executions than asked for', async () => {
    const { client, asked } = stub();
    const found = await temporalEngine(client).list("WorkflowType = 'launchNode'", 2);

    expect(found).toEqual([
      { ...run, nodeClaim: 'a-1', instanceId: '' },
      { ...run, nodeClaim: 'a-1', instanceId: '' },
    ]);
    expect(asked).toEqual([{ query: "WorkflowType = 'launchNode'" }]);
  });

  test('reads only the last event of a run', async () => {
    const { client, asked } = stub();
    const last = await temporalEngine(client).lastStep(run);

    expect(last).toEqual({ is: 'ended', at: 5000, how: 'completed', result: { outcome: 'initialized' } });
    expect(asked).toEqual([{ namespace: 'ns', execution: run, historyEventFilterType: 2 }]);
  });

  test('reads only the first event of a run', async () => {
    const { client, asked } = stub();
    await temporalEngine(client).firstStep(run);

    expect(asked).toEqual([{ namespace: 'ns', execution: run, maximumPageSize: 1 }]);
  });

  test("reads the namespace's retention", async () => {
    await expect(temporalEngine(stub().client).retentionMs()).resolves.toBe(86_400_000);
  });

  test('reads a local activity as an activity; other markers say nothing', () => {
    const payloads = (value: unknown): object => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
    const marker = (markerName: string): object => ({
      eventTime: timestampOf(5000),
      markerRecordedEventAttributes: {
        markerName,
        details: { data: payloads({ seq: 1, activity_type: 'syncNode' }), result: payloads({ state: 'registered' }) },
      },
    });

    const steps = decodeHistory([marker('core_local_activity'), marker('core_patch')] as never);

    expect(steps).toEqual([
      { is: 'activity', at: 5000, name: 'syncNode', input: undefined, result: { state: 'registered' } },
    ]);
  });
});
