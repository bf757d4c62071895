import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Taint } from '../../api/kubernetes.js';
import { registration, whyNotInitialized } from './node-readiness.js';
import { labels } from '../../api/labels.js';
import { conditionOf } from '../../core/conditions.js';
import { type ActivityWorld, createActivityWorld, nodeClaim, nodePool } from '../../test/builders/activity-world.js';
import { createLaunchActivities } from './launch.js';

const claim = { metadata: { name: 'c' }, spec: {} } as NodeClaim;
const node = (taint: Taint): Node =>
  ({
    metadata: { name: 'n' },
    spec: { taints: [taint] },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }) as Node;

// Rule `labels/starting-taints`.
test.each<[string, string, string | undefined, boolean]>([
  ['node.kubernetes.io/not-ready', 'NoExecute', undefined, true],
  ['node.kubernetes.io/unreachable', 'NoSchedule', undefined, true],
  ['node.kubernetes.io/not-ready', 'PreferNoSchedule', undefined, false],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'true', true],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule', 'false', true],
  ['node.cloudprovider.kubernetes.io/uninitialized', 'NoExecute', 'true', false],
  ['readiness.k8s.io/network', 'NoSchedule', undefined, true],
  ['example.com/dedicated', 'NoSchedule', 'web', false],
])('taint %s:%s of value %s keeps a node from being initialized: %s', (key, effect, value, keeps) => {
  const taint = { key, effect, ...(value === undefined ? {} : { value }) } as Taint;

  expect(whyNotInitialized(claim, node(taint))?.reason).toBe(keeps ? 'KnownEphemeralTaintsExist' : undefined);
});

test('a NodePool that lists the unregistered taint does not bring it back', () => {
  const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' } as const;
  const startupTaints = [unregistered, { key: 'example.com/cni', effect: 'NoSchedule' }];
  const listing = { ...claim, spec: { ...claim.spec, startupTaints } } as NodeClaim;
  expect(registration(listing, node(unregistered)).spec.taints).toEqual([startupTaints[1]]);
});

describe('open labels', () => {
  const partition = 'karpenter.k8s.aws/placement-group-partition';
  const hypervisor = 'karpenter.k8s.aws/instance-hypervisor';
  const team = 'example.com/team';
  const claim = { name: 'c1', uid: 'uid-c1' };

  /** A claim that Karpenter launched, whose node has come up. */
  describe('labels that Karpenter left empty for the cloud to fill (registration/open-labels)', () => {
    let world: ActivityWorld;
    beforeEach(async () => {
      world = await createActivityWorld();
      world.kube.put('NodePool', nodePool('default'));
    });
    afterEach(() => world.stop());

    const registered = async (own: Record<string, string>, fromInstance: Record<string, string> | undefined) => {
      const made = nodeClaim('c1', {});
      const conditions = [{ type: 'Launched', status: 'True' as const }];
      const metadata = { ...made.metadata, labels: { ...made.metadata.labels, ...own } };
      world.kube.put('NodeClaim', { ...made, metadata, status: { providerID: 'p', conditions } });
      world.kube.put('Node', {
        metadata: { name: 'n1', labels: {} },
        spec: { providerID: 'p', taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] },
        status: { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
      });
      await world.synced();
      Object.assign(world.cloud, {
        wellKnownLabels: [partition, hypervisor],
        openLabels: [partition],
        get: () => Promise.resolve(fromInstance === undefined ? undefined : { labels: fromInstance }),
      });
      const { state } = await createLaunchActivities(world.deps).syncNode({ claim });
      const node = await world.kube.get('Node', { name: 'n1' });
      const live = await world.kube.get('NodeClaim', { name: 'c1' });
      const condition = conditionOf(live?.status?.conditions, 'Registered');
      return {
        state,
        node: node?.metadata.labels?.[labels.registered] === 'true' ? node.metadata.labels[partition] : 'unregistered',
        claim: live?.metadata.labels?.[partition],
        registered: [condition?.status, condition?.reason],
      };
    };

    test.each<[string, Record<string, string>, Record<string, string> | undefined, object]>([
      [
        'the instance has it',
        { [partition]: '' },
        { [partition]: '2' },
        { state: 'initialized', node: '2', claim: '2' },
      ],
      [
        'the instance does not have it yet',
        { [partition]: '' },
        {},
        { state: 'waiting', node: 'unregistered', claim: '', registered: ['Unknown', 'RegistrationHookPending'] },
      ],
      ['of no instance', { [partition]: '' }, undefined, { state: 'waiting', node: 'unregistered', claim: '' }],
      ['known before', { [partition]: '1' }, { [partition]: '2' }, { state: 'initialized', node: '1', claim: '1' }],
      ['empty for good, as on bare metal', { [hypervisor]: '' }, {}, { state: 'initialized', node: undefined }],
      ['of somebody else, and empty', { [team]: '' }, {}, { state: 'initialized', node: undefined, claim: undefined }],
    ])('%s', async (_, own, fromInstance, expected) => {
      expect(await registered(own, fromInstance)).toMatchObject(expected);
    });
  });
});
