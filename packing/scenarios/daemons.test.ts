import { describe, expect, test } from '@jest/globals';
import type { DaemonSet, Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { instanceType, node, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { plan } from '../plan.js';
import type { Plan } from '../types.js';

const daemonSet = (spec: Partial<PodSpec>): DaemonSet => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { app: 'agent' } },
    template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }], ...spec } },
  },
});

const launched = ({ newNodeClaims }: Plan): string[] => newNodeClaims.map(({ cheapest }) => cheapest.instanceType);

const asks = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] }],
    },
  },
});

describe('DaemonSets that ask for nodes which are registered or initialized (section 2.10)', () => {
  test.each<[string, Partial<PodSpec>, string]>([
    ['take from every new node', { nodeSelector: { [labels.initialized]: 'true' } }, 'm4'],
    ['by node affinity too', { affinity: asks(labels.registered, 'Exists') }, 'm4'],
    ['and other labels still count', { nodeSelector: { [labels.registered]: 'true', disk: 'ssd' } }, 'm2'],
    ['not where they ask for the opposite', { affinity: asks(labels.initialized, 'DoesNotExist') }, 'm2'],
  ])('%s', (_, spec, type) => {
    const pods = [pod('p', { cpu: '2' })];
    expect(launched(plan(packingInput({ pods, daemonSets: [daemonSet(spec)] })))).toEqual([type]);
  });

  test('take from a node that is still to be initialized, and from none without a NodePool', () => {
    const daemonSets = [daemonSet({ nodeSelector: { [labels.initialized]: 'true' } })];
    const young = node('n', { cpu: '2', initialized: false });
    expect(plan(packingInput({ pods: [pod('p', { cpu: '2' })], nodes: [young], daemonSets })).existingNodes).toEqual(
      [],
    );
    const foreign = { ...node('n', { cpu: '2' }), metadata: { name: 'n' } };
    const result = plan(packingInput({ pods: [pod('p', { cpu: '2' })], nodes: [foreign], daemonSets }));
    expect(result.existingNodes).toEqual([{ node: 'n', pods: ['default/p'] }]);
  });
});

describe('host ports of DaemonSets', () => {
  const ports = [{ containerPort: 80, hostPort: 8080 }];
  const serving = (name: string): Pod =>
    pod(name, { containers: [{ name: 'main', resources: { requests: { cpu: '1' } }, ports }] });
  const agent = (spec: Partial<PodSpec>) => daemonSet({ containers: [{ name: 'main', ports }], ...spec });

  test('keep pods that want the same from the types they run on, those listed beside the cheapest included', () => {
    const daemonSets = [agent({ affinity: asks('example.com/cpu', 'In', '1', '4') })];
    const [claim] = plan(packingInput({ pods: [serving('p')], daemonSets })).newNodeClaims;
    expect(claim!.instanceTypes).toEqual(['m2', 'm8', 'm16', 'm32', 'm64']);
  });

  test('keep them from the zones they run in', () => {
    const daemonSets = [agent({ nodeSelector: { [labels.zone]: 'zone-a' } })];
    const [claim] = plan(packingInput({ pods: [serving('p')], daemonSets })).newNodeClaims;
    expect(claim!.cheapest.zone).toBe('zone-b');
    expect(claim!.requirements).toContainEqual({ key: labels.zone, operator: 'In', values: ['zone-b'] });
  });

  test('of pods that share a node those count that any of them wants', () => {
    const types = [2, 4].map((cpu) => instanceType(`m${cpu}`, { cpu, labels: { size: `${cpu}` } }));
    const daemonSets = [agent({ nodeSelector: { size: '2' } })];
    const pods = [serving('p'), pod('q')];
    expect(launched(plan(packingInput({ pods, daemonSets }, { types })))).toEqual(['m4']);
  });

  test('on the host’s network every port is one of the host', () => {
    const containers = [{ name: 'main', ports: [{ containerPort: 8080 }] }];
    const daemonSets = [daemonSet({ hostNetwork: true, containers })];
    const result = plan(packingInput({ pods: [serving('p')], daemonSets }));
    expect(result.unschedulable[0]!.blockers[0]).toMatchObject({ reason: 'HostPorts' });
    expect(plan(packingInput({ pods: [serving('p')], daemonSets: [daemonSet({ containers })] })).unschedulable).toEqual(
      [],
    );
  });
});
