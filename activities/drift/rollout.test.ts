import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { RolloutActivities, RolloutTarget, RolloutView } from './contract.js';
import { rolloutHash } from '../../cluster/rollout-hash.js';
import { createRolloutActivities } from './rollout.js';

type Live = Extract<RolloutView, { state: 'live' }>;

describe('activities of replaceDrifted', () => {
  let world: ActivityWorld;
  let activities: RolloutActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    activities = createRolloutActivities(world.deps);
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', templated('1'));
    putPolicy({ driftRollout: { soak: '90s', canary: '2' } });
    await world.synced();
  });
  afterEach(() => world.stop());

  function templated(release: string, annotated: Record<string, string> = {}): NodePool {
    const pool = nodePool('default');
    const template = { ...pool.spec.template, metadata: { labels: { release } } };
    const metadata = { ...pool.metadata, annotations: annotated };
    return { ...pool, metadata, spec: { ...pool.spec, template } };
  }
  function putPolicy(spec: object): void {
    const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'waves' }, spec };
    world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
  }
  const live = (): NodePool => world.kube.objects('NodePool')[0]!;
  const targetOf = (pool: NodePool): RolloutTarget => ({
    nodePool: 'default',
    poolUid: 'pool-default',
    hash: rolloutHash(pool, nodeClass('default')),
  });
  const view = async (target = targetOf(live()), launched: readonly ClaimRef[] = []): Promise<RolloutView> => {
    await world.synced();
    return activities.viewRollout({ target, launched });
  };
  const at = (secondsAgo: number): string => new Date(world.clock.now - secondsAgo * 1000).toISOString();

  function putNode(name: string, more: { driftedFor?: number; pods?: readonly object[]; ready?: boolean } = {}): void {
    const { driftedFor, pods = [], ready = true } = more;
    const conditions: Condition[] = [
      { type: 'Initialized', status: 'True', lastTransitionTime: at(600) },
      ...(driftedFor === undefined
        ? []
        : [
            { type: 'Drifted', status: 'True' as const, reason: 'NodePoolDrifted', lastTransitionTime: at(driftedFor) },
          ]),
    ];
    world.kube.put('NodeClaim', nodeClaim(name, { status: { providerID: `fake:///a/i-${name}`, conditions } }));
    world.kube.put('Node', {
      metadata: { name: `node-${name}`, labels: { [labels.nodePool]: 'default' } },
      spec: { providerID: `fake:///a/i-${name}` },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    });
    pods.forEach((metadata, i) => {
      world.kube.put('Pod', {
        metadata: { name: `${name}-${i}`, namespace: 'default', ...metadata },
        spec: { nodeName: `node-${name}`, containers: [] },
        status: { phase: 'Running' },
      });
    });
  }

  test('the rollout view has rules, drifted nodes in order, and blockers', async () => {
    putNode('sound');
    putNode('young', { driftedFor: 60, pods: [{}] });
    putNode('old', { driftedFor: 600, pods: [{}] });
    putNode('bare', { driftedFor: 10 });
    putNode('kept', { driftedFor: 900, pods: [{ annotations: { [annotations.doNotDisrupt]: 'true' } }] });

    const found = (await view()) as Live;

    expect(found.rules).toMatchObject({ canary: '2', soakMs: 90_000, onFailure: 'Stop' });
    expect(found.total).toBe(5);
    expect(found.drifted.map(({ node }) => node)).toEqual(['node-bare', 'node-old', 'node-young']);
    expect(found).toMatchObject({ blocked: 1, unwell: [] });
    expect(found.blockedBy).toBe('node-kept: pod default/kept-0 is marked do-not-disrupt');
  });

  test('a rollout is superseded when its NodePool is gone, recreated, or changed again', async () => {
    const target = targetOf(live());
    expect(await view({ ...target, poolUid: 'other' })).toEqual({ state: 'superseded', by: 'the NodePool is gone' });
    expect(await view({ ...target, nodePool: 'none' })).toEqual({ state: 'superseded', by: 'the NodePool is gone' });
    world.kube.put('NodePool', templated('2'));
    expect(await view(target)).toMatchObject({ state: 'superseded' });
    expect(await view()).toMatchObject({ state: 'live' });
  });

  test('another result of the node class supersedes the rollout, another order of it does not', () => {
    const pool = templated('1');
    const resolved = (...ids: string[]) =>
      ({ ...nodeClass('default'), status: { amis: ids.map((id) => ({ id })) } }) as never;
    const hash = rolloutHash(pool, resolved('ami-1', 'ami-2'));
    expect(rolloutHash(pool, resolved('ami-2', 'ami-1'))).toBe(hash);
    expect(rolloutHash(pool, resolved('ami-3'))).not.toBe(hash);
    expect(rolloutHash(templated('2'), resolved('ami-1', 'ami-2'))).not.toBe(hash);
  });

  test('the view says when the policy no longer requires waves, requires approval, or only recommends', async () => {
    putPolicy({ approval: [{ reasons: ['Drifted'], timeout: '1h', onTimeout: 'Approve' }], mode: 'Recommend' });
    const found = (await view()) as Live;
    expect(found.rules).toBeUndefined();
    expect(found.approval).toEqual({ timeoutMs: 3_600_000, onTimeout: 'Approve' });
    expect(found.leftAlone).toBe('DisruptionPolicy waves has mode Recommend');
  });

  test('claims that are gone, or whose nodes are not Ready, are unhealthy', async () => {
    putNode('well');
    putNode('ill', { ready: false });
    const launched = ['well', 'ill', 'gone'].map((name) => ({ name, uid: `uid-${name}` }));
    expect(await view(targetOf(live()), launched)).toMatchObject({ unwell: ['ill', 'gone'] });
  });

  test('a good template is recorded once, and the record of a stopped rollout is removed', async () => {
    const target = targetOf(live());
    await activities.noteStopped(target);
    expect(live().metadata.annotations).toMatchObject({ [annotations.driftStopped]: target.hash });

    await activities.markGood(target);
    const version = live().metadata.resourceVersion;
    await activities.markGood(target);

    expect(live().metadata.resourceVersion).toBe(version);
    expect(live().metadata.annotations).not.toHaveProperty([annotations.driftStopped]);
    const good = JSON.parse(live().metadata.annotations?.[annotations.lastGoodTemplate] ?? '') as object;
    expect(good).toMatchObject({ metadata: { labels: { release: '1' } } });
  });

  test('a template that changed meanwhile is not recorded, nor one of another NodePool', async () => {
    const target = targetOf(live());
    world.kube.put('NodePool', templated('2'));
    await world.synced();
    await activities.markGood(target);
    await activities.markGood({ ...targetOf(live()), poolUid: 'other' });
    expect(live().metadata.annotations ?? {}).not.toHaveProperty([annotations.lastGoodTemplate]);
  });

  test('a rollback restores the good template, removes added fields, and is an event; a second one changes nothing', async () => {
    await activities.markGood(targetOf(live()));
    const good = live().metadata.annotations!;
    const bad = templated('2', good);
    const template = {
      ...bad.spec.template,
      spec: { ...bad.spec.template.spec, taints: [{ key: 'new', effect: 'NoSchedule' as const }] },
    };
    world.kube.put('NodePool', { ...bad, spec: { ...bad.spec, template } });
    await world.synced();
    const target = { ...targetOf(live()), why: '2 of 3 nodes failed' };

    expect(await activities.rollBack(target)).toMatchObject({ outcome: 'rolledBack' });

    expect(live().spec.template.metadata?.labels).toEqual({ release: '1' });
    expect(live().spec.template.spec.taints).toBeUndefined();
    expect(world.events).toMatchObject([
      { reason: 'DriftRolledBack', type: 'Warning', regarding: { name: 'default' } },
    ]);
    expect(world.events[0]?.message).toContain('2 of 3 nodes failed');
    await world.synced();
    expect(await activities.rollBack(target)).toEqual({
      outcome: 'nothing',
      why: 'its template is the last good one already',
    });
    expect(world.events).toHaveLength(1);
  });

  test.each<[string, () => Promise<Partial<RolloutTarget>>, string]>([
    ['nothing is known to be good', () => Promise.resolve({}), 'no template of it is known to be good'],
    ...['{', '5', 'null', '[]'].map((text): [string, () => Promise<Partial<RolloutTarget>>, string] => [
      `what is known to be good is ${text}`,
      async () => {
        world.kube.put('NodePool', templated('2', { [annotations.lastGoodTemplate]: text }));
        await world.synced();
        return {};
      },
      'no template of it is known to be good',
    ]),
    [
      'the pool is another one',
      () => Promise.resolve({ poolUid: 'other' }),
      'the NodePool was deleted and created again',
    ],
    ['the pool is gone', () => Promise.resolve({ nodePool: 'none' }), 'the NodePool is gone'],
    [
      'somebody has changed it meanwhile',
      async () => {
        await activities.markGood(targetOf(live()));
        world.kube.put('NodePool', templated('2', live().metadata.annotations));
        await world.synced();
        const { hash } = targetOf(live());
        world.kube.put('NodePool', templated('3', live().metadata.annotations));
        await world.synced();
        return { hash };
      },
      'it was changed meanwhile',
    ],
  ])('a rollback is refused when %s', async (_what, prepare, why) => {
    const more = await prepare();
    const before = live().spec;
    const outcome = await activities.rollBack({ ...targetOf(live()), ...more, why: 'failed' });
    expect(outcome).toEqual({ outcome: 'nothing', why });
    expect(live().spec).toEqual(before);
    expect(world.events).toEqual([]);
  });
});
