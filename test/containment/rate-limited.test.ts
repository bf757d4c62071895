import { describe, expect, test } from '@jest/globals';
import { http } from '../../tools/stack/http.js';
import { createDefaultPool, deploy, isRunning } from '../live/world.js';
import { containment, large } from './containment.js';

// Temporal Cloud bounds what a namespace may ask of it in a second, visibility far more tightly than the rest. Both are set here to what is exceeded.

const nodes = 12;

const on = containment('rate-limited', createDefaultPool, {
  temporalSettings: { 'frontend.namespaceRPS': 25, 'frontend.namespaceRPS.visibility': 1 },
});

describe('a Temporal namespace limited to a few calls per second', () => {
  test('pods still get nodes and empty nodes still go, later; no workflow fails', async () => {
    await deploy(on.world, 'web', large, nodes);
    const pods = () => on.world.kube.list('Pod', { namespace: 'default', labelSelector: 'app=web' });
    const allRun = async (): Promise<boolean> => (await pods()).filter(isRunning).length === nodes;
    await on.until('All pods running', allRun, 540);

    await on.world.kube.delete('Deployment', { name: 'web', namespace: 'default' });
    for (const { metadata } of await on.claims())
      await on.world.kube.delete('NodeClaim', { name: metadata.name ?? '' });
    await on.until('No claim left', async () => (await on.claims()).length === 0, 540);

    const refused = await refusedCalls();
    expect(refused).toBeGreaterThan(0);
    const failed = [];
    for await (const { workflowId } of on.client.workflow.list({ query: 'ExecutionStatus = "Failed"' }))
      failed.push(workflowId);
    expect(failed).toEqual([]);
  });
});

/** How many calls Temporal refused for their rate. */
async function refusedCalls(): Promise<number> {
  const { body } = await http(on.world.stack.temporalMetricsUrl ?? '');
  const counts = body
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('service_errors_resource_exhausted'));
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
