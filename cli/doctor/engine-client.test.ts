import { describe, expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { createEngineReader } from './engine-client.js';

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
