import { describe, expect, test } from '@jest/globals';
import { observe } from '../../devstack/demo/observe.js';
import { TemporalClusterRegister } from '../../process/cluster-register.js';
import { within } from '../live/world.js';
import { readiness, workerAnswers } from './answers.js';
import { containment } from './containment.js';

// Two installations with one cluster name in one Temporal namespace do not execute each other's workflows.

const on = containment('name', () => Promise.resolve());

const says = (text: string): Promise<true> =>
  observe(
    `/readyz saying ${text}`,
    async () => ((await readiness(on.world)).includes(text) ? true : undefined),
    within(120),
    () => readiness(on.world),
  );

const answering = (expected: boolean): Promise<true> =>
  observe(
    expected ? 'A worker answering' : 'No worker answering',
    async () => ((await workerAnswers(on.client, on.world)) === expected ? true : undefined),
    within(60),
  );

describe('the name of a cluster', () => {
  test('stands for the first; a process of another does nothing, and acts once the name is its own', async () => {
    const register = new TemporalClusterRegister(on.client, on.cluster);
    const own = (await on.world.kube.get('Namespace', { name: 'kube-system' }))?.metadata.uid ?? '';
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
