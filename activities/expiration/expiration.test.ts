import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { ExpirationView } from './contract.js';
import { createExpirationActivities } from './expiration.js';

const hour = 3_600_000;

describe('how a node is expired (expiration/replaced-first)', () => {
  let world: ActivityWorld;
  let expiresAt: number;

  beforeEach(async () => {
    world = await createActivityWorld();
    expiresAt = world.clock.now + 24 * hour;
    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', ready(nodePool('default')));
    putClaim();
    await world.synced();
  });
  afterEach(() => world.stop());

  function putClaim(more: object = {}): void {
    const base = nodeClaim('c1', { status: { providerID: 'fake:///a/i-1' } });
    const own = {
      [labels.nodePool]: 'default',
      [labels.instanceType]: 'm5.xlarge',
      [labels.zone]: 'a',
      [labels.capacityType]: 'on-demand',
    };
    const creationTimestamp = new Date(world.clock.now - 24 * hour).toISOString();
    world.kube.put('NodeClaim', { ...base, metadata: { ...base.metadata, creationTimestamp, labels: own, ...more } });
  }
  const putNode = (): void =>
    void world.kube.put('Node', { metadata: { name: 'n1' }, spec: { providerID: 'fake:///a/i-1' }, status: {} });
  function putPolicy(spec: object): void {
    const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'lives' }, spec };
    world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
  }
  const view = async (): Promise<ExpirationView> => {
    await world.synced();
    return createExpirationActivities(world.deps).viewExpiration({ claim: { name: 'c1', uid: 'uid-c1' }, expiresAt });
  };

  test('an expired node without a DisruptionPolicy is replaced first', async () => {
    putNode();
    const found = await view();
    expect(found).toMatchObject({
      state: 'live',
      mode: 'ReplaceFirst',
      candidate: { node: 'n1', nodePool: 'default', instanceType: 'm5.xlarge', zone: 'a', pricePerHour: 0.2 },
    });
    expect(found).not.toHaveProperty('mustGoAt');
    expect(found).not.toHaveProperty('successor');
  });

  test('a claim without a node needs no replacement', async () => {
    expect(await view()).not.toHaveProperty('candidate');
  });

  test('a claim that is gone, recreated or being deleted needs no expiration', async () => {
    putClaim({ deletionTimestamp: new Date(world.clock.now).toISOString(), finalizers: ['x'] });
    expect(await view()).toEqual({ state: 'gone' });
    putClaim({ uid: 'another' });
    expect(await view()).toEqual({ state: 'gone' });
  });

  test('the policy sets the start, the hard deadline and approval', async () => {
    putPolicy({
      expiration: { lead: '2h', jitter: '0s', hardDeadline: '6h' },
      approval: [{ reasons: ['Expired'], timeout: '1h', onTimeout: 'Reject' }],
    });
    expect(await view()).toMatchObject({
      beginAt: expiresAt - 2 * hour,
      mustGoAt: expiresAt + 6 * hour,
      approval: { timeoutMs: hour, onTimeout: 'Reject' },
    });
  });

  test('Forceful begins at expireAfter without a hard deadline', async () => {
    putPolicy({ expiration: { mode: 'Forceful', lead: '2h' } });
    const found = await view();
    expect(found).toMatchObject({ mode: 'Forceful', beginAt: expiresAt });
    expect(found).not.toHaveProperty('mustGoAt');
  });

  test.each([
    ['only recommends', { mode: 'Recommend', expiration: { hardDeadline: '1h' } }, 'has mode Recommend'],
    [
      'is not valid',
      {
        expiration: { hardDeadline: '1h' },
        maintenanceWindows: [{ name: 'w', schedule: '0 9 * * *', duration: '1h', timeZone: 'Europe/Atlantis' }],
      },
      'spec.maintenanceWindows[0].timeZone',
    ],
  ])('the node is left alone while its policy %s, whatever deadline it sets', async (_what, spec, why) => {
    putPolicy(spec);
    const found = await view();
    expect(found).toMatchObject({ mode: 'ReplaceFirst', leftAlone: expect.stringContaining(why) });
    expect(found).not.toHaveProperty('mustGoAt');
  });
});
