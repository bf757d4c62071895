import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findWorkflow } from './find-workflow.js';
import type { TemporalTarget } from './temporal.js';

const nowhere = `apiVersion: v1
kind: Config
current-context: a
contexts: [{ name: a, context: { cluster: a, user: a } }]
clusters: [{ name: a, cluster: { server: 'http://127.0.0.1:1' } }]
users: [{ name: a, user: {} }]
`;

describe('the workflow that a name stands for', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'find-'));
    writeFileSync(join(folder, 'kubeconfig'), nowhere);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A rollout of NodePool `gpu` that asks, and nothing else. */
  const target = (): TemporalTarget => {
    const rollout = {
      workflowId: 'prod/drift/1/a',
      typedSearchAttributes: {
        get: ({ name }: { name: string }) => (name === 'StowageAwaitingApproval' ? true : 'awaiting approval'),
      },
    };
    const client = {
      workflow: {
        list: async function* ({ query }: { query: string }) {
          if (query.includes("StowageNodePool = 'gpu'")) yield await Promise.resolve(rollout);
        },
        getHandle: () => ({ query: () => Promise.resolve([]) }),
      },
    };
    const settings = { KUBECONFIG: join(folder, 'kubeconfig') };
    return { client, settings, cluster: 'prod' } as unknown as TemporalTarget;
  };

  test('a NodePool stands for its rollout, to every order (surfaces/orders-by-nodepool)', async () => {
    for (const order of ['approve', 'reject', 'abort', 'hold', 'rollback'] as const)
      expect(await findWorkflow(target(), 'gpu', order)).toBe('prod/drift/1/a');
  });

  test('a name that nothing has is told', async () => {
    await expect(findWorkflow(target(), 'nobody', 'abort')).rejects.toThrow(
      '"nobody" is no workflow id, and nothing is under way for a node or NodePool of that name',
    );
  });
});
