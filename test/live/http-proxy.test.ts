import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { observe } from '../../tools/stack/demo/observe.js';
import { createNodeClass, createNodePool, deploy, nodeOf, startLiveWorld, within, type LiveWorld } from './world.js';

// Stowage as a process that reaches AWS at its own endpoints, and through an HTTP proxy alone: what goes past it is cut.
let world: LiveWorld;

beforeAll(async () => {
  world = await startLiveWorld('http-proxy', { proxy: true });
});
afterAll(async () => world.stop());

test('a node is launched and terminated where every call to AWS must go through the HTTP proxy', async () => {
  await createNodeClass(world, 'default');
  await createNodePool(world, 'default', { spec: { disruption: { consolidateAfter: '0s' } } });
  await deploy(world, 'web', { cpu: '500m', memory: '512Mi' });
  const node = await observe('The pod running', () => nodeOf(world, 'web'), within(300));

  const asked = await world.cloud.tunnels();
  expect(Object.keys(asked)).toEqual(
    expect.arrayContaining(['ec2', 'iam', 'sqs', 'ssm'].map((service) => expect.stringContaining(service) as unknown)),
  );

  await world.kube.delete('Deployment', { name: 'web', namespace: 'default' });
  const isGone = async (): Promise<boolean> => (await world.kube.get('Node', { name: node })) === undefined;
  await observe('The node gone', isGone, within(300));
  const states = async (): Promise<string> => (await world.cloud.instances()).map(({ state }) => state).join();
  await observe(
    'Its instance ended',
    async () => /^(shutting-down|terminated)$/.test(await states()),
    within(300),
    states,
  );
});
