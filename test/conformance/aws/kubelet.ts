import { kubeletVerdict, type Kubelet } from '../../../api/aws/node-class-rules.js';
import { about, gives, notApplicable, same, type ConformanceCase } from '../conformance-case.js';

const issuesOf = (kubelet: Kubelet | undefined) => kubeletVerdict(kubelet, 'AL2023', true)?.issues ?? [];
/** Whether the controller accepts each of the settings, with expressions. */
const settings = (
  expected: boolean,
  title: string,
  rows: Readonly<Record<number, Kubelet | undefined>>,
): readonly ConformanceCase[] =>
  Object.entries(rows).map(([at, kubelet]) =>
    same(
      Number(at),
      `${title}: ${kubelet === undefined ? 'none' : JSON.stringify(kubelet)}`,
      gives(() => issuesOf(kubelet).length === 0, expected),
    ),
  );
const memory = (value: string) => ({ 'memory.available': value });
const soft = (grace: string, signal = 'memory.available'): Kubelet => ({
  evictionSoft: memory('10%'),
  evictionSoftGracePeriod: { [signal]: grace },
});
const images = (high: number, low: number): Kubelet => ({
  imageGCHighThresholdPercent: high,
  imageGCLowThresholdPercent: low,
});

const acceptedCases: readonly ConformanceCase[] = about('kubelet settings that are accepted', [
  ...settings(true, 'settings', {
    35: {},
    36: undefined,
    37: {
      ...{ maxPods: 110, podsPerCore: 10, kubeReserved: { cpu: '200m', memory: '100Mi' } },
      ...{ systemReserved: { 'ephemeral-storage': '1Gi', pid: '1000' }, evictionHard: memory('5%') },
    },
    46: { serializeImagePulls: false },
    49: {
      logging: {
        format: 'json',
        flushFrequency: '5s',
        options: { json: { infoBufferSize: '100Mi', splitStream: true } },
      },
    },
    56: { evictionHard: { 'nodefs.available': '500Mi' } },
    59: soft('1m'),
    63: images(80, 60),
    67: { maxPods: 0, podsPerCore: 0, evictionMaxPodGracePeriod: 0 },
  }),
  ...settings(true, 'expressions', {
    81: { maxPods: 'vcpus * 10' },
    82: { kubeReserved: { memory: 'memory * 0.1' } },
    85: { systemReserved: { cpu: 'vcpus * 10m' } },
    90: { maxPods: 'vcpus * 10', podsPerCore: 10 },
  }),
]);

const nested = { options: { json: { nope: 'x' } } };
const refusedCases: readonly ConformanceCase[] = about('kubelet settings that are refused', [
  ...settings(false, 'no field of kubelet, or of another type', {
    100: { notAKubeletField: true },
    103: { logging: { bogusLoggingField: true } },
    106: { logging: nested },
    111: { podsPerCore: 'ten' },
    114: { logging: { format: 12_345 } },
    117: { a: { b: [1, 'two', true] } },
  }),
  ...settings(false, 'below zero', {
    126: { maxPods: -1 },
    127: { podsPerCore: -1 },
    128: { evictionMaxPodGracePeriod: -1 },
  }),
  ...settings(false, 'no percentage', {
    135: { imageGCHighThresholdPercent: 101 },
    136: { imageGCHighThresholdPercent: -1 },
    137: { imageGCLowThresholdPercent: 101 },
    138: { imageGCLowThresholdPercent: -1 },
  }),
  ...settings(false, 'reservations', {
    146: { kubeReserved: { gpu: '1' } },
    147: { systemReserved: { gpu: '1' } },
    155: { kubeReserved: { cpu: '-1' } },
    156: { systemReserved: { cpu: '-1' } },
  }),
  ...settings(false, 'no signal', {
    166: { evictionHard: { notASignal: '5%' } },
    167: { evictionSoft: { notASignal: '5%' } },
    168: { evictionMinimumReclaim: { notASignal: '500Mi' } },
    169: { evictionSoftGracePeriod: { notASignal: '1m' } },
  }),
  ...settings(false, 'no threshold', {
    177: { evictionHard: memory('lots') },
    178: { evictionSoft: memory('lots') },
    179: { evictionMinimumReclaim: memory('lots') },
  }),
  ...settings(false, 'soft evictions', {
    181: soft('soon'),
    189: soft('-1m'),
    195: soft('1m', 'nodefs.available'),
    203: { evictionSoftGracePeriod: memory('1m') },
    208: { evictionSoft: memory('10%') },
  }),
  same(
    213,
    'imageGCHighThresholdPercent below the low one',
    gives(() => [images(60, 80), images(70, 70)].map((each) => issuesOf(each).length > 0), [true, true]),
  ),
  same(
    228,
    'a field that is written by the autoscaler',
    gives(
      () => issuesOf({ registerWithTaints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }] }).map(({ path }) => path),
      ['spec.kubelet.registerWithTaints'],
    ),
  ),
  same(
    237,
    'all errors are reported',
    gives(
      () =>
        issuesOf({ podsPerCore: -1, kubeReserved: { gpu: '1', cpu: '-1' }, evictionHard: { notASignal: '5%' } })
          .length >= 4,
      true,
    ),
  ),
  same(
    247,
    'errors name the field',
    gives(() => issuesOf({ notAKubeletField: true }).map(({ path }) => path), ['spec.kubelet.notAKubeletField']),
  ),
]);

const typeCases = settings(false, 'a value of another type', {
  277: { evictionSoft: memory('5%'), evictionSoftGracePeriod: memory('5x') },
  281: { clusterDNS: '10.0.0.10' },
  282: { maxPods: true },
  283: { podsPerCore: '10' },
  284: { kubeReserved: { cpu: true } },
  285: { systemReserved: { cpu: true } },
  286: { evictionHard: { 'memory.available': true } },
  287: { evictionSoft: { 'memory.available': true } },
  288: { evictionMaxPodGracePeriod: '60' },
  289: { imageGCHighThresholdPercent: '80' },
  290: { imageGCLowThresholdPercent: '70' },
  291: { cpuCFSQuota: 'true' },
});

/** pkg/apis/v1/kubeletconfiguration_validation_test.go */
export const kubeletCases: readonly ConformanceCase[] = [
  ...acceptedCases,
  ...refusedCases,
  ...typeCases,
  notApplicable(296, 'that the table above has every field', 'a test of a test'),
];
