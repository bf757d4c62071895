import { expect, test } from '@jest/globals';
import type { PodSpec } from '../../api/kubernetes.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { apply } from '../live/kubectl.js';
import { workflowIds } from '../../core/ids.js';
import { podsPendingSignal } from '../../workflows/messages.js';
import { createDefaultPool, deploy, isRunning, nodeOf, within } from '../live/world.js';
import { large, sharedContainment } from './containment.js';

// Pods that the API server takes and that are hard to work with do not affect ordinary pods, and get events with the reason.

const on = sharedContainment(async (world) => {
  await createDefaultPool(world);
  // The first event of a pod stays for minutes: it must not be that the pool is not ready yet.
  const isReady = async (): Promise<boolean> => {
    const pool = await world.kube.get('NodePool', { name: 'default' });
    return isTrue(pool?.status?.conditions, 'Ready');
  };
  await observe('NodePool default ready', isReady, within(120));
});

const pod = (name: string, spec: Partial<PodSpec>): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'app', image: 'app', resources: { requests: large } }], ...spec },
});

const preferring = (count: number, key: (n: number) => string, values: readonly string[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: Array.from({ length: count }, (_, n) => ({
        weight: 1 + (n % 100),
        preference: { matchExpressions: [{ key: key(n), operator: 'In' as const, values: [...values] }] },
      })),
    },
  },
});

/** An event of Stowage about a pod: those of kube-scheduler have other texts. */
async function eventOf(name: string, text: string): Promise<string | undefined> {
  const events = await on.world.kube.list('Event', { namespace: 'default' });
  return events.find(
    ({ involvedObject, message }) => involvedObject.name === name && message?.startsWith(text) === true,
  )?.message;
}

async function runs(name: string): Promise<boolean> {
  const found = await on.world.kube.get('Pod', { namespace: 'default', name });
  return found !== undefined && isRunning(found);
}

test('ordinary pods get their nodes beside pods with names of Object.prototype, a thousand preferences, and illegal ones', async () => {
  await apply(on.world.stack, [
    ...['constructor', 'toString', 'hasOwnProperty'].map((key) =>
      pod(`nasty-${key.toLowerCase()}`, { nodeSelector: { [key]: 'a' } }),
    ),
    pod(
      'eager',
      preferring(1000, (n) => `example.com/rack-${n}`, ['a']),
    ),
    // The API server does not check values of preferences.
    pod(
      'illegal',
      preferring(2, () => 'constructor', ['__proto__', '-not a label value-']),
    ),
  ]);
  await deploy(on.world, 'ordinary', large, 3);

  const ordinary = async (): Promise<boolean> => {
    const pods = await on.world.kube.list('Pod', { namespace: 'default', labelSelector: 'app=ordinary' });
    return pods.length === 3 && pods.every(isRunning);
  };
  await observe('The ordinary pods running', ordinary, within(240));
  // What they prefer cannot be had, and they run all the same.
  await observe('The pod of a thousand preferences running', () => runs('eager'), within(240));
  await observe('The pod of illegal preferences running', () => runs('illegal'), within(240));

  const why = await observe(
    'The event on the pod with a bad selector',
    () => eventOf('nasty-constructor', 'Failed to schedule pod'),
    within(120),
  );
  expect(why).toContain('constructor');
  for (const name of ['nasty-tostring', 'nasty-hasownproperty']) {
    await observe(`Event of ${name}`, () => eventOf(name, 'Failed to schedule pod'), within(120));
    expect(await runs(name)).toBe(false);
  }
  await observe(
    'Event of the pod with a thousand preferences',
    () => eventOf('eager', 'Planning ignores 980 of 1000'),
    within(120),
  );
  const pool = await on.world.kube.get('NodePool', { name: 'default' });
  expect(conditionOf(pool?.status?.conditions, 'NodeClaimsAccepted')).toBeUndefined();

  await deploy(on.world, 'late', large);
  await observe('A pod that comes later running', () => nodeOf(on.world, 'late'), within(180));
});

// What signals and looks write is bounded, however long a batch does not come to its end.
test('provision continues as new while a batch holds pods that fit nowhere, and later pending pods get a node', async () => {
  const { stack } = on.world;
  const provision = on.workflow(workflowIds.provision(on.cluster));
  const runOf = async (): Promise<{ runId: string; length: number; bytes: number }> => {
    const { runId, historyLength: length, historySize: bytes = 0 } = await provision.describe();
    return { runId, length, bytes };
  };
  const unplaceable = Array.from({ length: 300 }, (_, n) =>
    pod(`homeless-${n}`, { nodeSelector: { nowhere: `${n}` } }),
  );
  await apply(stack, unplaceable);
  await observe('Events of the pods', () => eventOf('homeless-299', 'Failed to schedule pod'), within(180));

  // Planning waits for the API server, and everything pending is signalled again and again.
  stack.freeze('kube-apiserver', true);
  const longest = { length: 0, bytes: 0, runs: new Set<string>() };
  try {
    // Many times as often as the operator signals them, and with a pause now and then: a run goes on in the next only where nothing comes meanwhile.
    while (longest.runs.size < 3) {
      for (let n = 0; n < 100; n++) await provision.signal(podsPendingSignal);
      const isTaken = async (): Promise<boolean> => (await provision.describe()).raw.pendingWorkflowTask === null;
      await on.until('The signals taken', isTaken, 240);
      const { runId, length, bytes } = await runOf();
      Object.assign(longest, { length: Math.max(length, longest.length), bytes: Math.max(bytes, longest.bytes) });
      longest.runs.add(runId);
    }
  } finally {
    stack.freeze('kube-apiserver', false);
  }
  process.stdout.write(`the longest history had ${longest.length} events and ${longest.bytes} bytes\n`);
  expect(longest.length).toBeLessThan(10_000);
  expect(longest.bytes).toBeLessThan(8 * 1024 * 1024);

  await deploy(on.world, 'placeable', large);
  await on.runs('placeable');
});
