import { describe, expect, test } from '@jest/globals';
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
    ['vcpu * 2', /vcpu is unknown; allowed are vcpus, memory_mib/],
    ['vcpus *', /"the end" is unexpected/],
    ['vcpus / 0', /division by zero/],
    ['vcpus # 2', /unexpected token at "# 2"/],
    ['pow(2, 3)', /unknown function pow/],
    ["vcpus + 'a'", /a string is not a number/],
    ['1 2', /"2" is unexpected/],
    ['vcpus > 4 ? vcpu : 1', /vcpu is unknown/],
    ["vcpus > 4 ? 1 : 'a'", /one branch is a number, the other a string/],
    ['vcpus ? 1 : 2', /not true or false/],
    ["vcpus == 'a'", /a number is never a string/],
    ['instance_type + 1', /a string is not a number/],
    ['vcpus.contains(4)', /contains needs strings/],
    ["instance_type.matches('a')", /unknown string method matches/],
    ['constructor', /constructor is unknown/],
  ])('%s is refused', (source, message) => {
    expect(() => evaluate(source, variables)).toThrow(message);
  });
});

/** A node without another limit of pods than its interfaces. */
const upTo =
  (most: number) =>
  (maxPods = most): number =>
    maxPods;

// Rule `node-classes/kubelet-expressions`.
describe('kubelet settings by expression', () => {
  const info = {
    InstanceType: 'm5.xlarge',
    VCpuInfo: { DefaultVCpus: 4 },
    MemoryInfo: { SizeInMiB: 16384 },
    NetworkInfo: { MaximumNetworkInterfaces: 4, Ipv4AddressesPerInterface: 15 },
  } as InstanceTypeInfo;

  // Rule `node-classes/expression-units`.
  test('are evaluated for each type in the units of each resource; plain values stay', () => {
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
    expect(resolvedKubelet(kubelet, info, upTo(58))).toEqual({
      maxPods: 40,
      kubeReserved: { cpu: '90m', memory: '704Mi', 'ephemeral-storage': '1Gi', pid: '400' },
      systemReserved: { memory: '100Mi' },
      clusterDNS: ['10.0.0.10'],
    });
    const plain = { maxPods: 20 };
    expect(resolvedKubelet(plain, info, upTo(58))).toBe(plain);
  });

  test('that cannot be parsed are reported by field, before an instance type is known', () => {
    const kubelet = {
      maxPods: 'vcpus > 4',
      kubeReserved: { cpu: 'vcpus *', memory: '1Gi', pid: '1 / 0' },
      systemReserved: { memory: 'bogus * 2' },
    };
    expect(unreadableExpressions(kubelet)).toEqual([
      'spec.kubelet.maxPods: "vcpus > 4" gives true or false, but a number is required',
      expect.stringMatching(/^spec.kubelet.kubeReserved.cpu: .*is unexpected/),
      expect.stringMatching(/^spec.kubelet.systemReserved.memory: .*bogus is unknown/),
    ]);
    expect(unreadableExpressions({ maxPods: 20 })).toEqual([]);
    expect(unreadableExpressions(undefined)).toEqual([]);
  });

  test('of pods are all texts, and give no more than kubelet takes', () => {
    expect(hasExpressions({ maxPods: '7' })).toBe(true);
    expect(resolvedKubelet({ maxPods: '7' }, info, upTo(58))).toEqual({ maxPods: 7 });
    expect(resolvedKubelet({ maxPods: '2147483647' }, info, upTo(58))).toEqual({ maxPods: 2_147_483_647 });
    expect(() => resolvedKubelet({ maxPods: '2147483647 + 1' }, info, upTo(58))).toThrow(
      /gives 2147483648, which is not an amount/,
    );
    expect(unreadableExpressions({ maxPods: '' })).toHaveLength(1);
  });

  test('a kubelet expression that gives no amount names the field and the type', () => {
    expect(() => resolvedKubelet({ maxPods: 'vcpus - 10' }, info, upTo(58))).toThrow(
      /spec.kubelet.maxPods: "vcpus - 10" gives -6, which is not an amount \(for m5.xlarge\)/,
    );
  });
});
