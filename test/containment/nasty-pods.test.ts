import { expect, test } from '@jest/globals';
import type { PodSpec } from '../../api/kubernetes.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { observe } from '../../devstack/demo/observe.js';
import { apply } from '../live/kubectl.js';
import { createDefaultPool, deploy, isRunning, nodeOf, within } from '../live/world.js';
import { containment, large } from './containment.js';

// Pods that the API server takes and that are hard to work with cost ordinary pods nothing, and are told why.

const on = containment('nasty', async (world) => {
  await createDefaultPool(world);
  // What a pod is told first counts for minutes: it is not to be that the pool is not ready yet.
  const isReady = async (): Promise<true | undefined> => {
    const pool = await world.kube.get('NodePool', { name: 'default' });
    return isTrue(pool?.status?.conditions, 'Ready') ? true : undefined;
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

/** Of a pod, what Stowage says: kube-scheduler's events have other texts. */
async function told(name: string, text: string): Promise<string | undefined> {
  const events = await on.world.kube.list('Event', { namespace: 'default' });
  return events.find(
    ({ involvedObject, message }) => involvedObject.name === name && message?.startsWith(text) === true,
  )?.message;
}

async function runs(name: string): Promise<true | undefined> {
  const found = await on.world.kube.get('Pod', { namespace: 'default', name });
  return found !== undefined && isRunning(found) ? true : undefined;
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

  const ordinary = async (): Promise<true | undefined> => {
    const pods = await on.world.kube.list('Pod', { namespace: 'default', labelSelector: 'app=ordinary' });
    return pods.length === 3 && pods.every(isRunning) ? true : undefined;
  };
  await observe('The ordinary pods running', ordinary, within(240));
  // What they prefer cannot be had, and they run all the same.
  await observe('The pod of a thousand preferences running', () => runs('eager'), within(240));
  await observe('The pod of illegal preferences running', () => runs('illegal'), within(240));

  const why = await observe(
    'The pod with a bad selector told why',
    () => told('nasty-constructor', 'Failed to schedule pod'),
    within(120),
  );
  expect(why).toContain('constructor');
  for (const name of ['nasty-tostring', 'nasty-hasownproperty']) {
    await observe(`${name} told why`, () => told(name, 'Failed to schedule pod'), within(120));
    expect(await runs(name)).toBeUndefined();
  }
  await observe('The pod of a thousand told', () => told('eager', 'Planning ignores 980 of 1000'), within(120));
  const pool = await on.world.kube.get('NodePool', { name: 'default' });
  expect(conditionOf(pool?.status?.conditions, 'NodeClaimsAccepted')).toBeUndefined();

  await deploy(on.world, 'late', large);
  await observe('A pod that comes later running', () => nodeOf(on.world, 'late'), within(180));
}, 900_000);
