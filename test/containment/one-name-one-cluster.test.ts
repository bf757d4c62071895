import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@temporalio/client';
import { observe } from '../../devstack/demo/observe.js';
import { TemporalClusterRegister } from '../../process/cluster-register.js';
import { startLiveWorld, within, type LiveWorld } from '../live/world.js';
import { readiness, workerAnswers } from './answers.js';

// "Contained" B13: two installations with one cluster name in one Temporal namespace do not execute each other's workflows.
let world: LiveWorld;
let client: Client;

beforeAll(async () => {
  world = await startLiveWorld('name');
  client = new Client({ connection: world.temporal });
}, 600_000);

afterAll(async () => {
  await world.stop();
}, 60_000);

const says = (text: string): Promise<true> =>
  observe(
    `/readyz saying ${text}`,
    async () => ((await readiness(world)).includes(text) ? true : undefined),
    within(120),
    () => readiness(world),
  );

const answering = (expected: boolean): Promise<true> =>
  observe(
    expected ? 'A worker answering' : 'No worker answering',
    async () => ((await workerAnswers(client, world)) === expected ? true : undefined),
    within(60),
  );

describe('the name of a cluster', () => {
  test('B13: stands for the first; a process of another does nothing, and acts once the name is its own', async () => {
    const register = new TemporalClusterRegister(client, world.stack.cluster);
    const own = (await world.kube.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';
    expect(await register.read()).toBe(own);
    await register.record('another');
    expect(await register.read()).toBe(own);
    await answering(true);

    // Another cluster takes the name over while this one runs.
    await register.remove();
    await register.record('another');
    await says(`its kube-system has UID another, that of this cluster ${own}`);
    await answering(false);
    expect(await register.read()).toBe('another');

    await register.remove();
    await says('ok');
    await answering(true);
    expect(await register.read()).toBe(own);
  }, 500_000);
});
