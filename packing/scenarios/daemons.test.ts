import { describe, expect, test } from 'vitest';
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

describe('DaemonSets that ask for nodes which are registered or initialized (scheduling/daemons-of-registered-nodes)', () => {
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

test('a mirror of a static pod takes nothing of what a DaemonSet is still to take on its node (scheduling/daemon-overhead)', () => {
  const onNode = pod('proxy', { cpu: '1', namespace: 'kube-system', nodeName: 'n' });
  const mirror: Pod = {
    ...onNode,
    metadata: { ...onNode.metadata, annotations: { 'kubernetes.io/config.mirror': 'abc' } },
  };
  const placed = (cpu: string) =>
    plan(
      packingInput({
        pods: [mirror, pod('p', { cpu })],
        nodes: [node('n', { cpu: '4' })],
        daemonSets: [daemonSet({})],
      }),
    ).existingNodes;
  expect(placed('2')).toEqual([{ node: 'n', pods: ['default/p'] }]);
  expect(placed('2500m')).toEqual([]);
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

describe('DaemonSets of which pods run', () => {
  const created = (day: number): string => `2026-01-0${day}T00:00:00Z`;
  const running = (name: string, spec: Partial<PodSpec>, day = 1): Pod => ({
    ...pod(name, { namespace: 'kube-system', nodeName: 'elsewhere', ...spec }),
    metadata: {
      name,
      namespace: 'kube-system',
      creationTimestamp: created(day),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true }],
    },
  });
  const requesting = (cpu: string): Partial<PodSpec> => ({
    containers: [{ name: 'main', resources: { requests: { cpu } } }],
  });
  const onHost = (name: string, ...terms: { key: string; operator: 'In'; values: string[] }[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [name] }],
              ...(terms.length > 0 && { matchExpressions: terms }),
            },
          ],
        },
      },
    },
  });
  const ssd = { key: 'disk', operator: 'In' as const, values: ['ssd'] };

  test.each<[string, Partial<PodSpec>, Pod[], string]>([
    ['count as their pods request', { containers: [{ name: 'main' }] }, [running('a', requesting('2'))], 'm4'],
    ['less as well', requesting('4'), [running('a', requesting('1'))], 'm2'],
    [
      'by the newest of them',
      requesting('1'),
      [running('a', requesting('7'), 1), running('c', requesting('2'), 3), running('b', requesting('7'), 2)],
      'm4',
    ],
    ['with their overhead', requesting('1'), [running('a', { ...requesting('1'), overhead: { cpu: '1' } })], 'm4'],
    ['on every host', requesting('1'), [running('a', { ...requesting('2'), ...onHost('elsewhere') })], 'm4'],
    [
      'where the template wants them',
      { ...requesting('1'), affinity: asks('disk', 'In', 'ssd') },
      [running('a', { ...requesting('2'), ...onHost('elsewhere', ssd) })],
      'm1',
    ],
    [
      'where a webhook wants them',
      requesting('1'),
      [running('a', { ...requesting('2'), ...onHost('elsewhere', ssd) })],
      'm1',
    ],
    [
      'by the template where no pod is theirs',
      requesting('1'),
      [pod('other', { nodeName: 'elsewhere', cpu: '9' })],
      'm2',
    ],
  ])('%s', (_, template, pods, type) => {
    const input = packingInput({ pods: [pod('p'), ...pods], daemonSets: [daemonSet(template)] });
    expect(launched(plan(input))).toEqual([type]);
  });

  test('take from nodes that their pod is still to come to', () => {
    const input = packingInput({
      pods: [pod('p'), running('a', requesting('2'))],
      nodes: [node('n', { cpu: '2' })],
      daemonSets: [daemonSet({ containers: [{ name: 'main' }] })],
    });
    expect(plan(input).existingNodes).toEqual([]);
  });
});
