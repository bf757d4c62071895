import type { Container, PodSpec, ResourceList } from '../../api/kubernetes.js';
import { adjusted } from '../../packing/compile/overlays.js';
import { podRequests, QuantityReader } from '../../packing/compile/pod-requests.js';
import { allocatableOf } from '../../core/launch-options.js';
import { withResizedRequests } from '../../core/pod-resize.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';

const Gi = 2 ** 30;
/** CPUs and GiB. */
const list = (cpu: number, memory: number): ResourceList => ({ cpu: String(cpu), memory: `${memory}Gi` });
const container = (cpu: number, memory: number): Container => ({
  name: 'c',
  resources: { requests: list(cpu, memory) },
});
const sidecar = (cpu: number, memory: number): Container => ({ ...container(cpu, memory), restartPolicy: 'Always' });
const pod = (first: readonly Container[], then: readonly Container[], more: Partial<PodSpec> = {}): PodSpec => ({
  initContainers: [...first],
  containers: [...then],
  ...more,
});
const asks = (cpu: number, memory: number, spec: PodSpec): Check =>
  gives(() => {
    const requests = podRequests(spec, new QuantityReader());
    return [(requests.get('cpu') ?? 0) / 1000, (requests.get('memory') ?? 0) / Gi];
  }, [cpu, memory]);
const whole = (resources: NonNullable<PodSpec['resources']>): PodSpec =>
  pod([], [container(1, 1), container(2, 1)], { resources });
type Amount = readonly [cpu: number, memory: number];
const resized = (expected: Amount, spec: Amount, status?: { allocated: Amount; actual: Amount }): Check =>
  gives(() => {
    const { spec: counted } = withResizedRequests({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: pod([], [container(...spec)]),
      ...(status !== undefined && {
        status: {
          containerStatuses: [
            {
              name: 'c',
              allocatedResources: list(...status.allocated),
              resources: { requests: list(...status.actual) },
            },
          ],
        },
      }),
    });
    return asks(0, 0, counted).outcome();
  }, expected);
const lists = 'lists of amounts are added and compared where they are used';

/** pkg/utils/resources/suite_test.go */
export const resourceCases: readonly ConformanceCase[] = about('requests and limits of pods', [
  same(40, 'add up containers and sidecars', asks(3, 3, pod([sidecar(1, 1)], [container(2, 2)]))),
  same(
    66,
    'are the larger of init and main containers, with overhead',
    asks(6, 4, pod([sidecar(1, 1), container(2, 2)], [container(4, 2)], { overhead: list(1, 1) })),
  ),
  same(
    102,
    'an init container beside a sidecar that needs more',
    asks(12, 12, pod([sidecar(2, 2), container(10, 10)], [container(3, 3)])),
  ),
  same(
    134,
    'an init container beside a sidecar that needs less',
    asks(5, 5, pod([sidecar(2, 2), container(2, 2)], [container(3, 3)])),
  ),
  same(
    168,
    'an init container beside several sidecars that needs more',
    asks(17, 17, pod([sidecar(2, 2), sidecar(5, 5), container(10, 10)], [container(3, 3)])),
  ),
  same(
    221,
    'an init container beside several sidecars that needs less',
    asks(15, 15, pod([sidecar(5, 5), sidecar(5, 5), container(2, 2)], [container(5, 5)])),
  ),
  same(
    274,
    'one before all sidecars that needs more than everything',
    asks(25, 25, pod([container(25, 25), sidecar(5, 5), sidecar(5, 5)], [container(5, 5)])),
  ),
  same(
    344,
    'sidecars and init containers in turn',
    asks(
      32,
      32,
      pod([container(25, 25), sidecar(5, 5), container(1, 1), sidecar(2, 2), container(25, 25)], [container(3, 3)]),
    ),
  ),
  same(
    425,
    'more CPU in init containers, more memory in main ones',
    asks(25, 6, pod([container(25, 1), sidecar(4, 4)], [container(2, 2)])),
  ),
  same(
    464,
    'more memory in init containers, more CPU in main ones',
    asks(6, 25, pod([container(1, 25), sidecar(4, 4)], [container(2, 2)])),
  ),
  same(503, 'more CPU beside a sidecar', asks(14, 6, pod([sidecar(4, 4), container(10, 1)], [container(2, 2)]))),
  same(535, 'more memory beside a sidecar', asks(6, 14, pod([sidecar(4, 4), container(1, 10)], [container(2, 2)]))),
  same(
    569,
    'pod-level requests beside those of containers',
    asks(5, 5, whole({ requests: list(5, 5), limits: list(6, 6) })),
  ),
  same(590, 'pod-level requests alone', asks(5, 5, whole({ requests: list(5, 5) }))),
  same(619, 'pod-level limits', asks(6, 6, { containers: [{ name: 'c' }], resources: { limits: list(6, 6) } })),
  notApplicable([[652, 705]], 'the largest and the smallest of lists', lists),
  same(716, 'a container resized to less in place', resized([6, 2], [2, 1], { allocated: [6, 2], actual: [2, 1] })),
  same(735, 'a container resized to more in place', resized([8, 4], [8, 4], { allocated: [2, 1], actual: [8, 4] })),
  same(754, 'a container that is not resized', resized([4, 2], [4, 2])),
]);

const priced = (at: number, adjustment: string, from: number, to: number): ConformanceCase =>
  same(
    at,
    `${from} dollars, ${adjustment}`,
    gives(() => adjusted(from, undefined, adjustment), to),
  );
/** What pods may use of a type of 20 GiB, of which one is reserved and so many are huge pages. */
const free = (hugePages: number, memory: number): Check =>
  gives(
    () => {
      const capacity = { cpu: 5000, memory: 20 * Gi, 'hugepages-2Mi': hugePages * Gi, 'hugepages-1Gi': 10 * Gi };
      const overhead = { cpu: 125, memory: Gi };
      const type = { name: 't', requirements: [], offerings: [], capacity, overhead };
      const { cpu, memory: left = -1 } = allocatableOf(type);
      return { cpu, memory: left / Gi };
    },
    { cpu: 4875, memory },
  );
const overrides = 'offerings of a type have one capacity';

/** pkg/cloudprovider/suite_test.go */
export const cloudProviderCases: readonly ConformanceCase[] = about('instance types and prices', [
  notApplicable([37, 42, 47, 52], 'errors in errors', 'failures are distinguished by type: core/failures.ts'),
  same(60, 'huge pages are taken out of memory', free(5, 4)),
  same(84, 'huge pages take no more than there is memory', free(50, 0)),
  notApplicable([108, 132], 'offerings with amounts that override their type', overrides),
  priced(190, '-10%', 10, 9),
  priced(191, '+10%', 10, 11),
  priced(192, '-50%', 10, 5),
  priced(193, '+100%', 10, 20),
  priced(194, '-100%', 10, 0),
  priced(195, '-200%', 10, 0),
  priced(196, '-25%', 1.5, 1.125),
  priced(198, '+0', 10, 10),
  priced(199, '+5', 10, 15),
  priced(200, '-2.5', 10, 7.5),
  priced(201, '-10', 10, 0),
  priced(202, '-15', 10, 0),
  priced(203, '+0.75', 1.25, 2),
  priced(204, '+100', 0.001, 100.001),
  priced(205, '+0.0001', 0.0001, 0.0002),
  same(
    207,
    'a fixed price of an overlay',
    gives(() => adjusted(82_781, '80.0', undefined), 80),
  ),
  same(
    211,
    'a price without an overlay',
    gives(() => adjusted(82_781, undefined, undefined), 82_781),
  ),
]);
