import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Condition } from '../api/kubernetes.js';
import { disruptionPolicies } from '../api/stowage/disruption-policy.js';
import { nodePoolHash } from '../disruption/drift/template-hash.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchGoodTemplates } from './good-templates.js';

describe('the good template of a NodePool, to which a rollout rolls back', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    world.kube.put('EC2NodeClass', nodeClass('default'));
    await world.synced();
    stop = watchGoodTemplates(operatorContext(world));
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  function templated(release: string): NodePool {
    const pool = nodePool('default');
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const template = { metadata: { labels: { release } }, spec: { ...pool.spec.template.spec, nodeClassRef } };
    return { ...pool, spec: { ...pool.spec, template } };
  }
  function putPolicy(name: string, spec: object): void {
    const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name }, spec };
    world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
  }
  function putClaim(name: string, release: string, initialized = true): void {
    const conditions: Condition[] = [{ type: 'Initialized', status: initialized ? 'True' : 'False' }];
    const claim = nodeClaim(name, { status: { conditions } });
    const hash = nodePoolHash(templated(release).spec.template);
    const metadata = { ...claim.metadata, annotations: { [annotations.nodePoolHash]: hash } };
    world.kube.put('NodeClaim', { ...claim, metadata });
  }
  const recorded = (): string | undefined => {
    const text = world.kube.objects('NodePool')[0]?.metadata.annotations?.[annotations.lastGoodTemplate];
    if (text === undefined) return undefined;
    return (JSON.parse(text) as NodePool['spec']['template']).metadata?.labels?.['release'];
  };
  /** Gives the watches and their work their turns. */
  async function settled(): Promise<void> {
    await world.synced();
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    await world.synced();
  }

  test('is first the one of all its nodes, once a policy asks for waves', async () => {
    world.kube.put('NodePool', templated('1'));
    putClaim('c1', '1');
    await settled();
    expect(recorded()).toBeUndefined();

    putPolicy('waves', { driftRollout: {} });
    await settled();
    expect(recorded()).toBe('1');

    // What is good later is for rollouts to say.
    world.kube.put('NodePool', { ...world.kube.objects('NodePool')[0]!, spec: templated('2').spec });
    putClaim('c2', '2');
    await settled();
    expect(recorded()).toBe('1');
  });

  test('is unknown while its nodes have different templates, or none is initialized', async () => {
    world.kube.put('NodePool', templated('2'));
    putPolicy('waves', { driftRollout: {} });
    putClaim('new', '2', false);
    await settled();
    expect(recorded()).toBeUndefined();

    putClaim('old', '1');
    putClaim('new', '2');
    await settled();
    expect(recorded()).toBeUndefined();

    world.kube.remove('NodeClaim', { name: 'old' });
    await settled();
    expect(recorded()).toBe('2');
  });
});
