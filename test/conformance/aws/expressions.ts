import { kubeletVerdict, type Kubelet } from '../../../api/aws/node-class-rules.js';
import { evaluate, type Variables } from '../../../cloud/aws/expression.js';
import { kubeletSettings } from '../../../cloud/aws/kubelet.js';
import { hasExpressions, resolvedKubelet } from '../../../cloud/aws/kubelet-expressions.js';
import { about, differs, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';

const variables = (vcpus = 4, memory_mib = 8192, default_enis = 3, ips_per_eni = 10, max_pods = 20): Variables => ({
  ...{ vcpus, memory_mib, default_enis, ips_per_eni, max_pods },
  instance_type: 'm5.large',
});
const worth = (expected: number, source: string, given = variables()): Check =>
  gives(() => Math.trunc(Number(evaluate(source, given))), expected);
/** Whether it comes to a number that is finite; text and conditions do not. */
const isNumber = (source: string, given: Variables): boolean => {
  try {
    const value = evaluate(source, given);
    return typeof value === 'number' && Number.isFinite(value);
  } catch {
    return false;
  }
};
const counts = (expected: boolean, ...sources: readonly string[]): Check =>
  gives(
    () => sources.map((source) => isNumber(source, variables())),
    sources.map(() => expected),
  );
const enis = '((default_enis - 1) * (ips_per_eni - 1))';
const large = variables(16, 65_536, 8, 30, 58);
const byType = 'instance_type == "m5.large" ? vcpus * 2 : vcpus';
const sizes: Readonly<Record<number, readonly [number, number, number, number, number]>> = {
  194: [2, 8192, 3, 10, 27],
  195: [4, 8192, 4, 15, 58],
  196: [16, 65_536, 8, 30, 234],
  197: [96, 393_216, 15, 50, 737],
  198: [128, 3_997_696, 8, 30, 234],
  199: [448, 25_165_824, 15, 50, 737],
};

const evaluated: readonly ConformanceCase[] = about('kubelet expressions', [
  same(51, 'pods by number of network interfaces', worth(20, `${enis} + 2`)),
  same(64, 'pods by number of prefixes', worth(250, `min(250, ${enis} * 16 + 2)`)),
  same(77, 'CPU by number of vCPUs', worth(480, 'max(60, vcpus * 30)', large)),
  same(90, 'memory by number of pods', worth(11 * 58 + 255, '11 * max_pods + 255', large)),
  same(103, 'min of a number and max_pods', worth(20, 'min(110, max_pods)')),
  same(109, 'max of an integer and a decimal', worth(60, 'max(vcpus, 60.5)')),
  same(116, 'min of a decimal and an integer', worth(20, 'min(110.5, max_pods)')),
  same(
    123,
    'by the name of the instance type',
    gives(
      () => ['m5.large', 'c5.xlarge'].map((instance_type) => evaluate(byType, { ...variables(), instance_type })),
      [8, 4],
    ),
  ),
  same(135, 'a negative result is refused', worth(-98, 'vcpus - 100', variables(2))),
  same([141, 146], 'division by zero is refused', counts(false, '100 / (vcpus - vcpus)', '100 % (vcpus - vcpus)')),
  same([151, 158], 'division by zero of decimals is refused', counts(false, '100.0 / 0.0', '0.0 / 0.0')),
  ...Object.entries(sizes).map(([at, size]) =>
    same(
      Number(at),
      `a type of ${size[0]} CPUs and ${size[1]} MiB`,
      gives(() => {
        const given = variables(...size);
        const texts = [
          'min(110, default_enis * (ips_per_eni - 1))',
          'max(60, vcpus * 30)',
          'max(100, memory_mib / 64)',
        ];
        return [
          ...texts.map((text) => Number(evaluate(text, given)) >= 0),
          Math.trunc(Number(evaluate('memory_mib / 100', given))),
          evaluate('max_pods * 11', given),
        ];
      }, [true, true, true, Math.trunc(size[1] / 100), size[4] * 11]),
    ),
  ),
  ...(['max(3, 7)', 'max(3.9, 7.9)', 'max(3, 7.9)', 'max(7.9, 3)'] as const).map((source, i) =>
    same(213 + i, source, worth(7, source)),
  ),
  ...(['min(3, 7)', 'min(3.9, 7.9)', 'min(3, 7.9)', 'min(7.9, 3)'] as const).map((source, i) =>
    same(217 + i, source, worth(3, source)),
  ),
]);

const info = {
  VCpuInfo: { DefaultVCpus: 2 },
  MemoryInfo: { SizeInMiB: 8192 },
  NetworkInfo: { MaximumNetworkInterfaces: 3, Ipv4AddressesPerInterface: 10 },
};
/** A node without another limit of pods than its interfaces. */
const upTo =
  (most: number) =>
  (maxPods = most): number =>
    maxPods;
type Amounts = Readonly<Record<string, string>>;
/** What amounts come to on a type of 2 CPUs and 8 GiB. */
const reserved = (given: Amounts, expected: Amounts): Check =>
  gives(() => resolvedKubelet({ kubeReserved: given }, info, upTo(20))['kubeReserved'], expected);
const nothing = 'vcpus - vcpus';
const noThunk = 'when variables are read: they are at hand here';

/** What reserved amounts of one that does not work out, beside a good one, come to: a refusal of the type. */
const unusable = (...sources: readonly string[]): Check =>
  gives(
    () =>
      sources.map((cpu) => {
        try {
          return resolvedKubelet({ kubeReserved: { memory: '128Mi', cpu } }, info, upTo(20));
        } catch (error) {
          return (error as Error).name;
        }
      }),
    sources.map(() => 'DomainError'),
  );

const amounts: readonly ConformanceCase[] = about('amounts from kubelet expressions', [
  same(228, 'plain quantities stay', reserved({ cpu: '100m', memory: '256Mi' }, { cpu: '100m', memory: '256Mi' })),
  same([233, 306], 'CPU', reserved({ cpu: 'vcpus * 30' }, { cpu: '60m' })),
  same(239, 'CPU is in millicores', reserved({ cpu: 'max(60, vcpus * 30)' }, { cpu: '60m' })),
  same(249, 'half a CPU', reserved({ cpu: 'vcpus * 250' }, { cpu: '500m' })),
  same(
    258,
    'units by resource',
    reserved(
      { memory: 'max_pods * 11', 'ephemeral-storage': '1 + 1', pid: 'max_pods * 10' },
      { memory: '224Mi', 'ephemeral-storage': '2Gi', pid: '200' },
    ),
  ),
  same(282, 'a hundredth of the memory', reserved({ memory: 'memory_mib / 100' }, { memory: '96Mi' })),
  same(290, 'a sixty-fourth of the memory', reserved({ memory: 'memory_mib / 64' }, { memory: '128Mi' })),
  same(300, 'CPU is rounded to tens of millicores', reserved({ cpu: '70 + vcpus' }, { cpu: '80m' })),
  same(313, 'amounts are rounded up', reserved({ cpu: '60 + vcpus - 1' }, { cpu: '70m' })),
  same(
    323,
    'rounding ignores tiny differences',
    gives(
      () =>
        ['70 + vcpus - 1', '80 - vcpus'].map(
          (cpu) => resolvedKubelet({ kubeReserved: { cpu } }, info, upTo(20))['kubeReserved'],
        ),
      [{ cpu: '80m' }, { cpu: '80m' }],
    ),
  ),
  same(333, 'memory is rounded to sixteens of MiB', reserved({ memory: 'max_pods + vcpus' }, { memory: '32Mi' })),
  same(339, 'zero stays zero', reserved({ cpu: nothing, memory: nothing }, { cpu: '0m', memory: '0Mi' })),
  same(
    348,
    'other resources are not rounded',
    reserved({ pid: '70 + vcpus - 1', 'ephemeral-storage': 'vcpus + 1' }, { pid: '71', 'ephemeral-storage': '3Gi' }),
  ),
  same(
    358,
    'a very large amount does not overflow',
    gives(() => {
      const made = resolvedKubelet({ kubeReserved: { cpu: '9223372036854775807 - vcpus + 2' } }, info, upTo(20));
      return Number.parseFloat((made['kubeReserved'] as Amounts)['cpu']!) > 0;
    }, true),
  ),
  differs(
    [368, 373, 378],
    'a negative amount, or one divided by zero, beside valid ones',
    'node-classes/kubelet-expressions',
    'the type is left out, and the node class is not ready under either',
    unusable('vcpus - 100', '100 / (vcpus - vcpus)'),
  ),
  same(387, 'an amount of zero', reserved({ cpu: nothing }, { cpu: '0m' })),
  same(392, 'half of the memory', reserved({ memory: 'memory_mib * 0.5' }, { memory: '4096Mi' })),
  notApplicable([398, 409, 420, 431, 445, 453], 'how often variables are read', noThunk),
]);

/** pkg/cel/environment_test.go, evaluation and what is no number. */
export const expressionCases: readonly ConformanceCase[] = [
  ...evaluated,
  ...amounts,
  ...(
    [
      [464, 'a good expression', true, `${enis} + 2`],
      [467, 'one that does not end', false, '((default_enis -'],
      [470, 'an undefined variable', false, 'undefined_var + 1'],
      [473, 'a condition', false, 'vcpus > 4'],
      [476, 'a text', false, 'instance_type'],
      [481, 'nothing', false, ''],
      [484, 'blanks', false, '   '],
    ] as const
  ).map(([at, title, expected, source]) => same(at, title, counts(expected, source))),
  notApplicable(495, 'many at the same time', 'nothing is shared between evaluations'),
];
const settings = (expected: boolean, kubelet: Readonly<Record<string, unknown>> | undefined): Check =>
  gives(() => hasExpressions(kubelet), expected);

/** Settings as what this program understands of them; undefined where they are not of a form that it takes. */
const understood = (given: Kubelet, expected: unknown): Check =>
  gives(() => (kubeletVerdict(given, 'AL2023', true) === undefined ? kubeletSettings(given) : undefined), expected);
const interpreted: Kubelet = {
  ...{ clusterDNS: ['10.0.0.10'], maxPods: 110, podsPerCore: 10, cpuCFSQuota: false },
  ...{ systemReserved: { cpu: '100m' }, kubeReserved: { memory: '256Mi' }, evictionHard: { 'memory.available': '5%' } },
  ...{ evictionSoft: { 'memory.available': '10%' }, evictionSoftGracePeriod: { 'memory.available': '1m' } },
  ...{ evictionMaxPodGracePeriod: 30, imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 60 },
};
/** Whether all the settings are supported by a family that gets only a few of them. */
const onAl2 = (given: Kubelet | undefined, expected: readonly string[]): Check =>
  gives(() => {
    const refused = kubeletVerdict(given, 'AL2', true)?.issues.map(({ path }) => path) ?? [];
    return Object.keys(given ?? {}).filter((field) => refused.some((path) => path.startsWith(`spec.kubelet.${field}`)));
  }, expected);
/** The number of pods on a type of 2 CPUs, whose interfaces allow 29. */
const pods = (maxPods: unknown, expected: number | undefined): Check =>
  gives(() => resolvedKubelet({ ...(maxPods === undefined ? {} : { maxPods }) }, info, upTo(29))['maxPods'], expected);
const wrong = { podsPerCore: 'ten' };

const fieldCases: readonly ConformanceCase[] = about('reading kubelet settings with expressions', [
  same(90, 'absent settings of reserved amounts', settings(false, undefined)),
  same(94, 'maxPods alone', settings(true, { maxPods: 'vcpus * 10', kubeReserved: { cpu: '100m' } })),
  same(
    102,
    'kubeReserved or systemReserved alone',
    gives(
      () => ['kubeReserved', 'systemReserved'].map((field) => hasExpressions({ [field]: { cpu: 'vcpus * 30' } })),
      [true, true],
    ),
  ),
  same([116, 122], 'empty settings', understood({}, {})),
  same(127, 'every supported setting', understood(interpreted, interpreted)),
  same(
    155,
    'settings that are passed through',
    understood(
      { serializeImagePulls: false, topologyManagerPolicy: 'best-effort' },
      { serializeImagePulls: false, topologyManagerPolicy: 'best-effort' },
    ),
  ),
  same(
    165,
    'maxPods by expression stays one expression',
    understood({ maxPods: 'vcpus * 10' }, { maxPods: 'vcpus * 10' }),
  ),
  same([175, 220], 'settings of another type are ignored', understood(wrong, undefined)),
  same([184, 216], 'maxPods as a resolved number', pods(58, 58)),
  same(
    190,
    'absent, and one expression',
    gives(() => [pods(undefined, 0).outcome(), pods('vcpus * 10', 0).outcome()], [undefined, 20]),
  ),
  notApplicable([231, 248], 'copies of what was read', 'nothing changes settings that were read'),
  same(258, 'AL2 gets every supported setting', onAl2(interpreted, [])),
  same(
    275,
    'AL2 gets no other setting',
    onAl2({ maxPods: 110, serializeImagePulls: false, registryPullQPS: 10 }, [
      'serializeImagePulls',
      'registryPullQPS',
    ]),
  ),
  same(
    283,
    'AL2 without settings',
    gives(() => [onAl2(undefined, []).outcome(), onAl2({}, []).outcome()], [[], []]),
  ),
]);

/** pkg/apis/v1/kubeletconfiguration_test.go, which settings are expressions. */
export const expressionFieldCases: readonly ConformanceCase[] = [
  same(36, 'no settings', settings(false, undefined)),
  same(40, 'settings of nothing', settings(false, {})),
  same(43, 'numbers and quantities', settings(false, { maxPods: 110, kubeReserved: { cpu: '100m', memory: '256Mi' } })),
  same(51, 'pods', settings(true, { maxPods: 'vcpus * 10' })),
  same(55, 'a number of pods', settings(false, { maxPods: 58 })),
  same(59, 'of kubelet', settings(true, { kubeReserved: { cpu: 'vcpus * 30' } })),
  same(63, 'of the system', settings(true, { systemReserved: { memory: 'max_pods * 11' } })),
  same(67, 'beside quantities', settings(true, { kubeReserved: { cpu: '100m', memory: `${enis} + 2` } })),
  ...fieldCases,
  same(78, 'thresholds are none', settings(false, { evictionHard: { 'memory.available': '10%' }, podsPerCore: 10 })),
];
