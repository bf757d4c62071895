import { kubeletVerdict, type Kubelet } from '../../../api/aws/node-class-rules.js';
import type { AmiFamily, EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { conditionOf } from '../../../core/conditions.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { refusal } from '../../builders/aws-world.js';
import { account, type Given } from './account.js';

const image = {
  ImageId: 'ami-1',
  Name: 'an image',
  Architecture: 'x86_64',
  CreationDate: '2026-01-01T00:00:00Z',
};
export const plenty: object = {
  describeSecurityGroups: () => Promise.resolve({ SecurityGroups: [{ GroupId: 'sg-1' }] }),
  describeImages: () => Promise.resolve({ Images: [image] }),
};
/** What the condition ValidationSucceeded of a node class says; dry runs are switched off. */
async function validated({ calls, spec, options }: Given): Promise<readonly (string | undefined)[]> {
  const own = { amiFamily: 'AL2023', amiSelectorTerms: [{ id: 'ami-1' }], role: undefined, instanceProfile: 'own' };
  const world = account({
    types: ['m5.large', 'm5.xlarge'],
    spec: { ...own, ...spec },
    options: { disableDryRun: true, ...options },
    calls: { ...plenty, ...calls },
  });
  const { metadata, spec: made } = world.nodeClass;
  const bare = { ...world.nodeClass, metadata, spec: made, status: {} };
  const { status } = await world.provider.resolveNodeClass(bare);
  const { conditions } = status as EC2NodeClassStatus;
  const condition = conditionOf(conditions, 'ValidationSucceeded');
  return [condition?.status, condition?.status === 'True' ? undefined : condition?.reason];
}
const says = (given: Given, status: string, reason?: string): Check => gives(() => validated(given), [status, reason]);
const nothing = () => Promise.resolve({});
const away = () => Promise.reject(refusal('InternalError', 'words', 'ec2:Describe', 500));
const waiting = (
  at: number,
  title: string,
  call: string,
  answer: () => Promise<object>,
  status: string,
): ConformanceCase => same(at, title, says({ calls: { [call]: answer } }, status, 'DependenciesNotReady'));

const dependencyCases: readonly ConformanceCase[] = about('a node class is not Ready while', [
  waiting(78, 'images are not found', 'describeImages', nothing, 'False'),
  waiting(80, 'security groups are not found', 'describeSecurityGroups', nothing, 'False'),
  waiting(81, 'subnets are not found', 'describeSubnets', nothing, 'False'),
  waiting(92, 'images are not resolved yet', 'describeImages', away, 'Unknown'),
  waiting(94, 'security groups are not resolved yet', 'describeSecurityGroups', away, 'Unknown'),
  waiting(95, 'subnets are not resolved yet', 'describeSubnets', away, 'Unknown'),
]);

const kubelet = (at: number, title: string, settings: Kubelet, status: string, reason?: string): ConformanceCase =>
  same(at, title, says({ spec: { kubelet: settings } }, status, reason));
/** What is said of settings of a family. */
const family = (at: number, title: string, of: AmiFamily, settings: Kubelet, expected?: string): ConformanceCase =>
  same(
    at,
    `${title}: ${of}`,
    gives(() => kubeletVerdict(settings, of, true)?.reason, expected),
  );
const unsupported = 'UnsupportedKubeletConfiguration';
const invalid = 'InvalidKubeletConfiguration';
const addresses = { clusterDNS: ['10.0.0.10', '10.0.0.11'] };
const pull = { registryPullQPS: 10 };

const kubeletCases: readonly ConformanceCase[] = about('kubelet settings of a node class', [
  kubelet(
    252,
    'imageGC thresholds in the wrong order',
    { imageGCHighThresholdPercent: 10, imageGCLowThresholdPercent: 60 },
    'False',
    invalid,
  ),
  kubelet(256, 'imageGCHighThresholdPercent below 0', { imageGCHighThresholdPercent: -10 }, 'False', invalid),
  kubelet(259, 'imageGCLowThresholdPercent below 0', { imageGCLowThresholdPercent: -10 }, 'False', invalid),
  family(285, 'a passed-through setting', 'Bottlerocket', pull, unsupported),
  family(286, 'a passed-through setting on another family', 'Windows2022', pull, unsupported),
  family(288, 'podsPerCore', 'Bottlerocket', { podsPerCore: 10 }, unsupported),
  family(291, 'two DNS services', 'AL2', addresses, unsupported),
  family(292, 'two DNS services', 'Bottlerocket', addresses, unsupported),
  family(293, 'two DNS services', 'Windows2022', addresses, unsupported),
  kubelet(295, 'two cluster DNS addresses: AL2023', addresses, 'True'),
  family(304, 'one DNS service', 'Bottlerocket', { clusterDNS: ['10.0.0.10'] }),
  kubelet(315, 'a passed-through setting: AL2023', pull, 'True'),
  kubelet(324, 'podsPerCore: AL2023', { podsPerCore: 10 }, 'True'),
  family(333, 'supported settings', 'Bottlerocket', { maxPods: 110, kubeReserved: { cpu: '100m' } }),
  family(346, 'a passed-through setting on a third family', 'Custom', pull),
]);

const gated = (at: number, title: string, settings: Kubelet, status: string, reason?: string): ConformanceCase =>
  same(at, title, says({ options: { kubeletExpressions: true }, spec: { kubelet: settings } }, status, reason));
const unreadable = (at: number, title: string, settings: Kubelet): ConformanceCase =>
  gated(at, title, settings, 'False', 'KubeletExpressionInvalid');
const failing = (at: number, title: string, settings: Kubelet): ConformanceCase =>
  gated(at, title, settings, 'False', 'KubeletExpressionEvaluationFailed');
const byEnis = 'min(110, default_enis * (ips_per_eni - 1))';
const disabled = 'KubeletExpressionsDisabled';

const expressionCases: readonly ConformanceCase[] = about('kubelet expressions of a node class', [
  unreadable(402, 'an unterminated expression of maxPods', { maxPods: 'min(110,' }),
  unreadable(405, 'an unknown variable in maxPods', { maxPods: 'undefined_var + 1' }),
  unreadable(408, 'a condition in maxPods', { maxPods: 'vcpus > 4' }),
  unreadable(411, 'an unterminated expression of kubeReserved', { kubeReserved: { cpu: 'vcpus *' } }),
  unreadable(414, 'an unknown variable in systemReserved', { systemReserved: { memory: 'bogus_var * 1048576' } }),
  failing(431, 'a negative amount', { kubeReserved: { cpu: '0 - 1' } }),
  failing(434, 'a division by zero', { systemReserved: { memory: '1048576 / (vcpus - vcpus)' } }),
  failing(437, 'a negative number of pods', { maxPods: '0 - 1' }),
  gated(
    441,
    'valid expressions',
    { maxPods: byEnis, kubeReserved: { cpu: 'max(60, vcpus * 30)' }, systemReserved: { memory: 'max_pods * 11' } },
    'True',
  ),
  kubelet(494, 'maxPods by expression without the gate', { maxPods: byEnis }, 'False', disabled),
  kubelet(
    497,
    'kubeReserved by expression without the gate',
    { kubeReserved: { cpu: 'max(60, vcpus * 30)' } },
    'False',
    disabled,
  ),
  kubelet(
    500,
    'systemReserved by expression without the gate',
    { systemReserved: { memory: 'max_pods * 11' } },
    'False',
    disabled,
  ),
  kubelet(
    504,
    'plain values without the gate',
    { maxPods: 110, kubeReserved: { cpu: '100m' }, systemReserved: { memory: '100Mi' } },
    'True',
  ),
  gated(517, 'maxPods by expression with the gate', { maxPods: byEnis }, 'True'),
]);

/** pkg/controllers/nodeclass/validation_test.go, what is known without a dry run. */
export const validationCases: readonly ConformanceCase[] = [...dependencyCases, ...kubeletCases, ...expressionCases];
