import { describe, expect, test } from 'vitest';
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { evaluate } from './expression.js';
import { hasExpressions, resolvedKubelet, unreadableExpressions } from './kubelet-expressions.js';

const variables = { vcpus: 4, memory_mib: 16384, max_pods: 58, instance_type: 'm5.xlarge' };

describe('expressions', () => {
  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['7 / 2', 3],
    ['7.0 / 2.5', 2.8],
    ['-vcpus + 10 % 4', -2],
    ['max(11 * max_pods + 255, memory_mib / 20)', 893],
    ['min(110, max_pods, 250)', 58],
    ["instance_type.startsWith('m5.') ? 100 : 50", 100],
    ['vcpus >= 8 || memory_mib > 8192 ? 1 : 2', 1],
    ['!(vcpus == 4) && true ? 1 : 2', 2],
    ['int(2.9) + double(1)', 3],
    ['vcpus == 4 ? 1 : 1 / (vcpus - 4)', 1],
    ['vcpus != 4 ? 1 / (vcpus - 4) : 2', 2],
    ['vcpus == 4 || 1 / (vcpus - 4) > 0 ? 1 : 2', 1],
    ['vcpus != 4 && 1 / (vcpus - 4) > 0 ? 1 : 2', 2],
  ])('%s is %d', (source, value) => {
    expect(evaluate(source, variables)).toBe(value);
  });

  test.each([
    ['vcpu * 2', /vcpu is not known; known are vcpus, memory_mib/],
    ['vcpus *', /"the end" is not expected/],
    ['vcpus / 0', /division by zero/],
    ['vcpus # 2', /nothing known begins at "# 2"/],
    ['pow(2, 3)', /no function pow/],
    ["vcpus + 'a'", /a text is no number/],
    ['1 2', /"2" is not expected/],
    ['vcpus > 4 ? vcpu : 1', /vcpu is not known/],
    ["vcpus > 4 ? 1 : 'a'", /one branch is a number, the other a text/],
    ['vcpus ? 1 : 2', /neither true nor false/],
    ["vcpus == 'a'", /a number is never a text/],
    ['instance_type + 1', /a text is no number/],
    ['vcpus.contains(4)', /contains needs texts/],
    ["instance_type.matches('a')", /there is no matches of a text/],
    ['constructor', /constructor is not known/],
  ])('%s is refused', (source, message) => {
    expect(() => evaluate(source, variables)).toThrow(message);
  });
});

// Rule `node-classes/kubelet-expressions`.
describe('kubelet settings by expression', () => {
  const info = {
    InstanceType: 'm5.xlarge',
    VCpuInfo: { DefaultVCpus: 4 },
    MemoryInfo: { SizeInMiB: 16384 },
    NetworkInfo: { MaximumNetworkInterfaces: 4, Ipv4AddressesPerInterface: 15 },
  } as InstanceTypeInfo;

  // Rule `node-classes/expression-units`.
  test('are worked out for each type, in the units of each resource; plain values stay', () => {
    const kubelet = {
      maxPods: 'min(max_pods, default_enis * 10)',
      kubeReserved: {
        cpu: 'vcpus * 21',
        memory: '11 * max_pods + 255',
        'ephemeral-storage': '1Gi',
        pid: 'vcpus * 100',
      },
      systemReserved: { memory: '100Mi' },
      clusterDNS: ['10.0.0.10'],
    };
    expect(hasExpressions(kubelet)).toBe(true);
    expect(resolvedKubelet(kubelet, info, 58)).toEqual({
      maxPods: 40,
      kubeReserved: { cpu: '90m', memory: '704Mi', 'ephemeral-storage': '1Gi', pid: '400' },
      systemReserved: { memory: '100Mi' },
      clusterDNS: ['10.0.0.10'],
    });
    const plain = { maxPods: 20 };
    expect(resolvedKubelet(plain, info, 58)).toBe(plain);
  });

  test('that nobody can read are told by field, whatever the type', () => {
    const kubelet = {
      maxPods: 'vcpus > 4',
      kubeReserved: { cpu: 'vcpus *', memory: '1Gi', pid: '1 / 0' },
      systemReserved: { memory: 'bogus * 2' },
    };
    expect(unreadableExpressions(kubelet)).toEqual([
      'spec.kubelet.maxPods: "vcpus > 4" gives true or false, which is no number',
      expect.stringMatching(/^spec.kubelet.kubeReserved.cpu: .*is not expected/),
      expect.stringMatching(/^spec.kubelet.systemReserved.memory: .*bogus is not known/),
    ]);
    expect(unreadableExpressions({ maxPods: 20 })).toEqual([]);
    expect(unreadableExpressions(undefined)).toEqual([]);
  });

  test('of pods are all texts, and give no more than kubelet takes', () => {
    expect(hasExpressions({ maxPods: '7' })).toBe(true);
    expect(resolvedKubelet({ maxPods: '7' }, info, 58)).toEqual({ maxPods: 7 });
    expect(resolvedKubelet({ maxPods: '2147483647' }, info, 58)).toEqual({ maxPods: 2_147_483_647 });
    expect(() => resolvedKubelet({ maxPods: '2147483647 + 1' }, info, 58)).toThrow(
      /gives 2147483648, which is no amount/,
    );
    expect(unreadableExpressions({ maxPods: '' })).toHaveLength(1);
  });

  test('a kubelet expression that gives no amount names the field and the type', () => {
    expect(() => resolvedKubelet({ maxPods: 'vcpus - 10' }, info, 58)).toThrow(
      /spec.kubelet.maxPods: "vcpus - 10" gives -6, which is no amount \(for m5.xlarge\)/,
    );
  });
});
