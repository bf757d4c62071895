import type { Client } from '@temporalio/client';
import { describe, expect, test } from '@jest/globals';
import type { ObservedQueue } from '../../operator/stuck/observed.js';
import { createEngineReader, namespaceCheck, searchAttributesCheck, taskQueuesCheck, temporalCheck } from './engine.js';
import { oldestTemporal } from '../../process/engine-version.js';

const away = () => Promise.reject(new Error('away'));
const hour = 3_600_000;

describe('doctor check temporal', () => {
  const verdict = (version: string) =>
    temporalCheck({ serverVersion: () => Promise.resolve(version) }, 'frontend:7233').run();

  test.each([
    ['1.29.1', 'ok'],
    [oldestTemporal, 'ok'],
    ['1.24.3', 'failed'],
    ['', 'warning'],
  ])('on Temporal version "%s" is %s', async (version, state) => {
    expect(await verdict(version)).toMatchObject({ state });
  });

  test('passes an error of Temporal on', async () => {
    const check = temporalCheck({ serverVersion: away }, 'frontend:7233');
    await expect(check.run()).rejects.toThrow('away');
    expect(check.unanswered).toContain('frontend:7233');
  });
});

describe('doctor check temporal-namespace', () => {
  const verdict = (found: { isOpen: boolean; retentionMs: number } | undefined) =>
    namespaceCheck({ namespace: () => Promise.resolve(found) }, 'stowage').run();

  test.each([
    ['does not exist', undefined, 'failed', 'there is no namespace stowage'],
    ['is deprecated or deleted', { isOpen: false, retentionMs: 72 * hour }, 'failed', 'deprecated or deleted'],
    ['has a short retention', { isOpen: true, retentionMs: hour }, 'warning', 'for 1 hour'],
    ['is open, with a long retention', { isOpen: true, retentionMs: 72 * hour }, 'ok', 'for 72 hours'],
  ])('gives its verdict on a namespace that %s', async (_name, found, state, text) => {
    expect(await verdict(found)).toMatchObject({ state, found: expect.stringContaining(text) });
  });

  test('passes a denial on', async () => {
    await expect(namespaceCheck({ namespace: away }, 'n').run()).rejects.toThrow('away');
  });
});

describe('doctor check search-attributes', () => {
  const verdict = (found: Awaited<ReturnType<Parameters<typeof searchAttributesCheck>[0]['searchAttributes']>>) =>
    searchAttributesCheck({ searchAttributes: () => Promise.resolve(found) }, 'n').run();

  test('is ok with all, failed with missing ones and with one of another type', async () => {
    expect(await verdict({ missing: [], mistyped: [] })).toMatchObject({ state: 'ok' });
    expect(await verdict({ missing: ['StowagePhase'], mistyped: [] })).toMatchObject({
      state: 'failed',
      found: 'not registered: StowagePhase',
    });
    const mistyped = [{ name: 'StowageReason', wanted: 'KEYWORD', found: 'TEXT' }];
    expect(await verdict({ missing: ['StowagePhase'], mistyped })).toMatchObject({
      state: 'failed',
      found: 'StowageReason is TEXT and must be KEYWORD',
      mend: expect.stringContaining('search-attribute remove --namespace n --name StowageReason'),
    });
  });

  test('passes a denial to list them on', async () => {
    await expect(searchAttributesCheck({ searchAttributes: away }, 'n').run()).rejects.toThrow('away');
  });
});

describe('doctor check task-queues', () => {
  const now = Date.parse('2026-01-05T12:00:00Z');
  const queue = (more: Partial<ObservedQueue> = {}): ObservedQueue => ({
    ...{ name: 'c/control', tasks: 'workflow', backlog: 0, backlogAgeMs: 0, polledAt: now },
    ...more,
  });
  const verdict = (...queues: ObservedQueue[]) =>
    taskQueuesCheck({ queues: () => Promise.resolve(queues) }, { now: () => now }).run();

  test('is ok when polled, failed when never or no longer polled, with the number of waiting tasks', async () => {
    expect(await verdict(queue(), queue({ tasks: 'activity' }))).toMatchObject({
      state: 'ok',
      found: 'workers poll all 1 queue',
    });
    const never: ObservedQueue = { name: 'c/drain', tasks: 'workflow', backlog: 0, backlogAgeMs: 0 };
    expect(await verdict(queue(), never)).toMatchObject({
      state: 'failed',
      found: 'c/drain (workflow tasks): no worker polls it',
      mend: expect.stringContaining('start a worker'),
    });
    expect(await verdict(queue({ polledAt: now - 120_000 }))).toMatchObject({ state: 'failed' });
    expect(await verdict(queue({ backlog: 3, backlogAgeMs: 60_000 }))).toMatchObject({
      state: 'warning',
      found: 'c/control (workflow tasks): tasks wait for a worker',
    });
  });

  test('passes an error of Temporal on', async () => {
    await expect(taskQueuesCheck({ queues: away }, { now: () => now }).run()).rejects.toThrow('away');
  });
});

/** A frontend that answers with these; calls go through `withDeadline`. */
function reader({ workflowService = {}, schedule = {}, operatorService = {} }: Record<string, object>) {
  const deadlines: number[] = [];
  const connection = {
    operatorService,
    withDeadline: (deadline: number, call: () => Promise<unknown>) => {
      deadlines.push(deadline);
      return call();
    },
  };
  const client = { connection, options: { namespace: 'n' }, workflowService, schedule } as unknown as Client;
  return { engine: createEngineReader(client, 'c'), deadlines };
}

const described = (description: () => Promise<object>) => ({ getHandle: () => ({ describe: description }) });
/** As @grpc/grpc-js throws it. */
const grpcError = (code: number): Error =>
  Object.assign(new Error(`code ${code}`), { code, details: '', metadata: {} });

describe("doctor's Temporal client", () => {
  test('calls with a deadline', async () => {
    const { engine, deadlines } = reader({
      workflowService: { getSystemInfo: () => Promise.resolve({ serverVersion: '1.29.1' }) },
    });
    expect(await engine.serverVersion()).toBe('1.29.1');
    expect(deadlines).toHaveLength(1);
  });

  test('says why the frontend cannot be reached', async () => {
    const client = { connection: {}, options: {} } as unknown as Client;
    const connected = () => Promise.reject(new Error('connection refused'));
    await expect(createEngineReader(client, 'c', connected).serverVersion()).rejects.toThrow('connection refused');
  });

  test("gives a namespace's state and retention, or undefined for an unknown one", async () => {
    const found = { namespaceInfo: { state: 1 }, config: { workflowExecutionRetentionTtl: { seconds: 3600 } } };
    const namespaceOf = (describeNamespace: () => Promise<object>) =>
      reader({ workflowService: { describeNamespace } }).engine.namespace();

    expect(await namespaceOf(() => Promise.resolve(found))).toEqual({ isOpen: true, retentionMs: 3_600_000 });
    expect(await namespaceOf(() => Promise.resolve({ namespaceInfo: { state: 2 } }))).toEqual({
      isOpen: false,
      retentionMs: 0,
    });
    expect(await namespaceOf(() => Promise.reject(grpcError(5)))).toBeUndefined();
    await expect(namespaceOf(() => Promise.reject(grpcError(7)))).rejects.toThrow('code 7');
  });

  test('lists search attributes by name', async () => {
    const listSearchAttributes = () => Promise.resolve({ customAttributes: { StowagePhase: 1 } });
    const { missing, mistyped } = await reader({ operatorService: { listSearchAttributes } }).engine.searchAttributes();

    expect(missing).toContain('StowageCluster');
    expect(mistyped).toEqual([{ name: 'StowagePhase', wanted: 'KEYWORD', found: 'TEXT' }]);
  });

  test("reads the UID recorded for the cluster's name", async () => {
    const memo = { kubeSystemUid: 'uid' };
    expect(await reader({ schedule: described(() => Promise.resolve({ memo })) }).engine.recordedUid()).toBe('uid');
  });
});
