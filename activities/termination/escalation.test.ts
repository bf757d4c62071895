import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { createEscalationActivities } from './escalation.js';

const at = Date.parse('2026-01-05T12:30:00Z');
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [] } };

describe('escalation of a stuck drain', () => {
  let world: ActivityWorld;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('Deployment', named('web', { spec: { template } }));
    world.kube.put('ReplicaSet', { ...named('web-1', { spec: { template } }), ...owned('web-1', 'Deployment', 'web') });
    world.kube.put('StatefulSet', named('db', { spec: { template } }));
    pod('web-1-a', 'ReplicaSet', 'web-1');
    pod('db-0', 'StatefulSet', 'db');
  });
  afterEach(() => world.stop());

  const named = <T extends object>(name: string, more: T): T & { metadata: object } => ({
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    ...more,
  });
  const owned = (name: string, kind: string, owner: string, apiVersion = 'apps/v1'): { metadata: object } => ({
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      ownerReferences: [{ apiVersion, kind, name: owner, uid: `uid-${owner}`, controller: true }],
    },
  });
  const pod = (name: string, kind?: string, owner = ''): void => {
    const { metadata } = kind === undefined ? named(name, {}) : owned(name, kind, owner);
    world.kube.put('Pod', { metadata, spec: { nodeName: 'n1', containers: [] }, status: { phase: 'Running' } });
  };
  const restart = async (...pods: string[]) => {
    await world.synced();
    return createEscalationActivities(world.deps).restartOwners({ pods, at });
  };
  const restartedAt = async (kind: 'Deployment' | 'StatefulSet', name: string): Promise<string | undefined> =>
    (await world.kube.get(kind, { namespace: 'shop', name }))?.spec.template.metadata?.annotations?.[
      'kubectl.kubernetes.io/restartedAt'
    ];

  test('a rollout is restarted once for all its pods, as kubectl does; a second attempt changes nothing', async () => {
    pod('web-1-b', 'ReplicaSet', 'web-1');

    const first = await restart('shop/web-1-a', 'shop/web-1-b', 'shop/db-0');
    const version = (await world.kube.get('Deployment', { namespace: 'shop', name: 'web' }))?.metadata.generation;
    const second = await restart('shop/web-1-a', 'shop/web-1-b', 'shop/db-0');

    expect(first).toEqual({ restarted: ['Deployment shop/web', 'StatefulSet shop/db'], refused: [] });
    expect(second).toEqual(first);
    expect(await restartedAt('Deployment', 'web')).toBe('2026-01-05T12:30:00Z');
    expect(await restartedAt('StatefulSet', 'db')).toBe('2026-01-05T12:30:00Z');
    expect((await world.kube.get('Deployment', { namespace: 'shop', name: 'web' }))?.metadata.generation).toBe(version);
  });

  const refusals: [string, () => void, object][] = [
    [
      'a pod of its own',
      () => pod('web-1-a'),
      { owner: 'Pod shop/web-1-a', why: 'no Deployment or StatefulSet owns it' },
    ],
    [
      'a paused rollout',
      () => world.kube.put('Deployment', named('web', { spec: { template, paused: true } })),
      { owner: 'Deployment shop/web', why: 'its rollout is paused' },
    ],
    [
      'a pod of a ReplicaSet of another group',
      () => {
        const { metadata } = owned('web-1-a', 'ReplicaSet', 'web-1', 'argoproj.io/v1alpha1');
        world.kube.put('Pod', { metadata, spec: { nodeName: 'n1', containers: [] }, status: { phase: 'Running' } });
      },
      { owner: 'Pod shop/web-1-a', why: 'no Deployment or StatefulSet owns it' },
    ],
    [
      'a StatefulSet without a controller',
      () => {
        pod('web-1-a', 'StatefulSet', 'db');
        world.kube.put('StatefulSet', named('db', { spec: { template, updateStrategy: { type: 'OnDelete' } } }));
      },
      { owner: 'StatefulSet shop/db', why: 'its update strategy OnDelete restarts nothing' },
    ],
    [
      'an owner that is gone',
      () => world.kube.remove('Deployment', { namespace: 'shop', name: 'web' }),
      { owner: 'Deployment shop/web', why: 'it is gone' },
    ],
    [
      'an owner of whose pods one is marked do-not-disrupt, on whatever node',
      () =>
        world.kube.put('Pod', {
          metadata: {
            ...owned('web-1-z', 'ReplicaSet', 'web-1').metadata,
            annotations: { [annotations.doNotDisrupt]: 'true' },
          },
          spec: { nodeName: 'n2', containers: [] },
          status: { phase: 'Running' },
        }),
      { owner: 'Deployment shop/web', why: 'its pod shop/web-1-z is marked do-not-disrupt' },
    ],
  ];
  test.each(refusals)('no restart: %s', async (_name, prepare, refusal) => {
    prepare();

    expect(await restart('shop/web-1-a')).toEqual({ restarted: [], refused: [refusal] });
    expect(await restartedAt('Deployment', 'web').catch(() => undefined)).toBeUndefined();
  });

  describe('RestartOwner without the right to patch workloads', () => {
    const restartRefused = async (status: number) => {
      await world.synced();
      const patch = () => Promise.reject(new DomainError('Denied', 'PATCH deployments web: forbidden', { status }));
      const deps = { ...world.deps, kube: { ...world.kube, patch } };
      return createEscalationActivities(deps).restartOwners({ pods: ['shop/web-1-a'], at });
    };

    test('does not restart the owner, and says why', async () => {
      const why = 'PATCH deployments web: forbidden';
      expect(await restartRefused(403)).toEqual({ restarted: [], refused: [{ owner: 'Deployment shop/web', why }] });
    });

    test('is not assumed for rejected credentials: the activity is retried', async () => {
      await expect(restartRefused(401)).rejects.toThrow('forbidden');
    });
  });

  test('is skipped for a pod that is gone', async () => {
    world.kube.remove('Pod', { namespace: 'shop', name: 'web-1-a' });

    expect(await restart('shop/web-1-a')).toEqual({ restarted: [], refused: [] });
  });

  test('Notify is an event on node and claim with the blocker, and since when', async () => {
    const why = 'can never allow an eviction: maxUnavailable is 0';
    const blocker = {
      cause: 'pdb-never',
      name: 'pdb/shop/web (never)',
      why,
      pods: ['shop/web-1-a'],
      podCount: 1,
    } as const;

    await createEscalationActivities(world.deps).notifyStuckDrain({
      claim: { name: 'c1', uid: 'uid-c1' },
      nodeName: 'n1',
      stuckMs: 600_000,
      blockers: [blocker],
    });

    expect(world.events.map(({ regarding, reason, message }) => [regarding.kind, reason, message])).toEqual(
      ['Node', 'NodeClaim'].map((kind) => [
        kind,
        'FailedDraining',
        `The drain has been stuck for 10 minutes: pdb/shop/web ${why}`,
      ]),
    );
  });
});
