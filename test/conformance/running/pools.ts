import type { Condition } from '../../../api/kubernetes.js';
import { conditionOf } from '../../../core/conditions.js';
import { nodePool } from '../../builders/activity-world.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { foreign } from './claims.js';
import { runningNode, said } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

const sizes = { cpu: '8', memory: '64Gi', pods: '5' };
const whole = { cpu: '16', memory: '128Gi', pods: '10' };

/** A node whose claim has the capacity `whole`, and its conditions. */
const measured = (expected: unknown, capacity: object, spec: object = {}): Check =>
  running(expected, async (it) => {
    runningNode(it, 'n1', { spec: { resources: { requests: sizes }, ...spec } });
    const claim = it.get('NodeClaim', 'n1')!;
    it.kube.put('NodeClaim', { ...claim, status: { ...claim.status, capacity: whole } });
    await it.kube.patch('Node', { name: 'n1' }, { status: { capacity } }, { subresource: 'status' });
    await it.pass(11 * minute);
    const wrong = 'expected 128Gi of resource memory, but found 64Gi (50.0% of expected)';
    const isTold = it.events.some(
      ({ reason, message }) => reason === 'FailedConsistencyCheck' && message.includes(wrong),
    );
    return [said(it, 'ConsistentStateFound').split('/')[0], isTold];
  });

/** pkg/controllers/nodeclaim/consistency/suite_test.go */
export const consistencyCases: readonly ConformanceCase[] = about('condition ConsistentStateFound', [
  same(138, 'is True for a node with the expected capacity', measured(['True', false], whole)),
  same(139, 'is not set for another provider', measured(['none', false], { ...whole, memory: '64Gi' }, foreign)),
  same(141, 'is False for a node with half of the memory', measured(['False', true], { ...whole, memory: '64Gi' })),
]);

/** A NodePool beside the usual one, of this node class. */
export const addOther = (
  it: Running,
  template: object,
  conditions: readonly Condition[] = [],
  name = 'other',
): void => {
  const made = nodePool(name, {
    template: { spec: { requirements: [], ...template } },
    disruption: { consolidateAfter: 'Never' },
  });
  it.kube.put('NodePool', {
    ...made,
    status: { conditions: [...conditions], nodeClassObservedGeneration: 1 },
  });
};
const ownClass = { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } };
const missing = { nodeClassRef: { ...ownClass.nodeClassRef, name: 'missing' } };
const health = (status: Condition['status']): Condition => ({
  ...{ type: 'NodeRegistrationHealthy', status, reason: 'Healthy', message: '' },
  ...{ lastTransitionTime: '2026-01-05T11:00:00Z', observedGeneration: 1 },
});
const stateOf = (it: Running, type: string, name = 'other'): string | undefined =>
  conditionOf(it.get('NodePool', name)?.status?.conditions, type)?.status;

const healthIs = (
  expected: unknown,
  template: object,
  before: readonly Condition[] = [],
  change: (it: Running) => unknown = () => undefined,
): Check =>
  running(expected, async (it) => {
    addOther(it, template, before);
    await it.pass(10 * second);
    await change(it);
    await it.pass(10 * second);
    return stateOf(it, 'NodeRegistrationHealthy');
  });

/** pkg/controllers/nodepool/registrationhealth/suite_test.go */
export const registrationHealthCases: readonly ConformanceCase[] = about('condition NodeRegistrationHealthy', [
  same(82, 'is not set for another provider', healthIs(undefined, foreign)),
  same(93, 'is not set without the node class', healthIs(undefined, missing)),
  same(
    99,
    'becomes Unknown when the node class changes',
    running(['Unknown', 2], async (it) => {
      addOther(it, ownClass, [health('False')]);
      await it.pass(10 * second);
      await it.kube.patch('EC2NodeClass', { name: 'default' }, { spec: { tags: { a: 'b' } } });
      await it.pass(10 * second);
      return [stateOf(it, 'NodeRegistrationHealthy'), it.get('NodePool', 'other')?.status?.nodeClassObservedGeneration];
    }),
  ),
  same(
    112,
    'becomes Unknown when the NodePool changes',
    healthIs('Unknown', ownClass, [health('False')], (it) =>
      it.kube.patch('NodePool', { name: 'other' }, { spec: { limits: { cpu: '14' } } }),
    ),
  ),
  same(124, 'stays True', healthIs('True', ownClass, [health('True')])),
  same(133, 'stays False', healthIs('False', ownClass, [health('False')])),
]);

const readiness = (expected: unknown, template: object, prepare: (it: Running) => void = () => undefined): Check =>
  running(
    expected,
    async (it) => {
      addOther(it, template);
      await it.pass(10 * second);
      return stateOf(it, 'Ready');
    },
    { prepare },
  );

/** pkg/controllers/nodepool/readiness/suite_test.go */
export const readinessCases: readonly ConformanceCase[] = about('condition Ready of a NodePool', [
  same(77, 'is not set for another provider', readiness(undefined, foreign)),
  same(88, 'is False without the node class', readiness('False', missing)),
  same(94, 'is True with a Ready node class', readiness('True', ownClass)),
  same(
    101,
    'is False with a node class that is not Ready',
    readiness('False', ownClass, ({ cloud }) => cloud.setNotReady('default', 'no')),
  ),
  same(
    118,
    'is Unknown with a node class without conditions',
    readiness('Unknown', ownClass, ({ cloud }) => void cloud.hold('resolveNodeClass')),
  ),
  same(
    127,
    'is False with a node class that is being deleted',
    readiness('False', ownClass, ({ kube }) => {
      kube.put('EC2NodeClass', {
        metadata: {
          name: 'default',
          finalizers: ['karpenter.k8s.aws/termination'],
          deletionTimestamp: '2026-01-05T11:59:00Z',
        },
        spec: {},
      } as never);
    }),
  ),
]);
