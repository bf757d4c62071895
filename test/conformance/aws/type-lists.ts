import { awsLabels } from '../../../api/aws/labels.js';
import { nodeOverlays } from '../../../api/karpenter/node-overlay.js';
import { nodePools } from '../../../api/karpenter/node-pool.js';
import { labels } from '../../../api/labels.js';
import type { InstanceType } from '../../../core/instance-type.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { applyOverlays } from '../../../packing/compile/overlays.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import { about, gives, same, type ConformanceCase } from '../conformance-case.js';
import { all, oneOf, pod, pool, zone1 } from '../world.js';
import { account, outcomeOf, type Account } from './account.js';
import { alias } from './launch-templates.js';
import { known, machines } from './machines.js';
import { plansOn } from './plans.js';

type List = readonly InstanceType[];
const differing = (lists: readonly List[]): number => new Set(lists.map((list) => JSON.stringify(list))).size;
/** The list of the same node class with another spec. */
const listWith = ({ provider, nodeClass }: Account, spec: object): Promise<List> =>
  provider.instanceTypes(pool(), { ...nodeClass, spec: { ...nodeClass.spec, ...spec } });
/** Whether every change of the node class, upon those before, makes another list. */
const changing = (at: number, title: string, given: object, changes: readonly object[]): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const world = account({ spec: given });
      const lists = [await world.types()];
      let spec: object = ec2NodeClass(given).spec;
      for (const change of changes) {
        spec = { ...spec, ...change };
        lists.push(await listWith(world, spec));
      }
      return differing(lists);
    }, changes.length + 1),
  );
const kubelet = {
  kubeReserved: { cpu: '1' },
  systemReserved: { cpu: '1' },
  evictionHard: { 'memory.available': '5%' },
  evictionSoft: { 'nodefs.available': '10%' },
  evictionSoftGracePeriod: { 'nodefs.available': '1m' },
  maxPods: 10,
};
const disks = (...mapped: readonly (readonly [device: string, size: string, root: boolean])[]): object => ({
  blockDeviceMappings: mapped.map(([deviceName, volumeSize, rootVolume]) => ({
    ...{ deviceName, ebs: { volumeSize }, rootVolume },
  })),
});

const hour = 3_600_000;
const soldIn = (...types: readonly string[]) =>
  types.flatMap((InstanceType) => all.map((Location) => ({ InstanceType, Location })));
const both = ['m5.large', 'm5.xlarge'];
/** Whether lists before and after EC2 was asked anew are one, where its answer to a call turns from the first to the second. */
const askedAnew = (call: string, answers: readonly [object, object]): Promise<boolean[]> =>
  Promise.all(
    [answers[0], answers[1]].map(async (next) => {
      let asked = 0;
      const calls = { [call]: () => Promise.resolve(asked++ === 0 ? answers[0] : next) };
      const world = account({ types: both, calls, options: { priceRefreshMs: 48 * hour } });
      await world.types();
      world.clock.time += 12 * hour - 60_000;
      const before = await world.types();
      world.clock.time += 120_000;
      const after = await world.types();
      if (asked !== 2) throw new Error(`${call} was asked ${asked} times`);
      return before === after;
    }),
  );
const anew = (at: number, title: string, call: string, answers: readonly [object, object]): ConformanceCase =>
  same(
    at,
    title,
    gives(() => askedAnew(call, answers), [true, false]),
  );

const violating = (at: number, ofPool: string, ofPod: string): ConformanceCase =>
  same(
    at,
    `a pod on a ${ofPod} machine, of a NodePool with ${ofPool} ones`,
    plansOn(
      { types: ['m5.large'] },
      [
        pool({ requirements: [oneOf(awsLabels.instanceTenancy, ofPool)] }),
        pod('p', { nodeSelector: { [awsLabels.instanceTenancy]: ofPod } }),
      ],
      { left: ['p'] },
    ),
  );

/** Zones of a type's offerings that can be had. */
const zonesOf = async (world: Account, name: string): Promise<unknown[]> =>
  ((await world.types()).find((type) => type.name === name)?.offerings ?? [])
    .filter(({ available }) => available)
    .map(({ requirements }) => pinnedValue(requirements, labels.zone))
    .sort();

const preview = 'p5.48xlarge';
const priced = nodeOverlays.mustParse({
  ...{ apiVersion: 'karpenter.sh/v1alpha1', kind: 'NodeOverlay', metadata: { name: 'preview-price' } },
  spec: { price: '98.32', requirements: [oneOf(labels.instanceType, preview)] },
});
const overlaid = (types: List): List =>
  applyOverlays([nodePools.mustParse(pool())], new Map([['default', types]]), [priced]).catalogues.get('default') ?? [];

/** pkg/providers/instancetype/suite_test.go, what makes another list of types, and what of it can be had. */
export const typeListCases: readonly ConformanceCase[] = about('cached list of instance types', [
  same(
    2643,
    'is the same where nothing changed',
    gives(async () => {
      const world = account();
      return (await world.types()) === (await world.types());
    }, true),
  ),
  changing(2653, 'changes with kubelet settings', { kubelet }, [
    { kubelet: { ...kubelet, kubeReserved: { cpu: '20' } } },
    { kubelet: { ...kubelet, kubeReserved: { cpu: '20' }, systemReserved: { memory: '10Gi' } } },
    { kubelet: { ...kubelet, evictionHard: { 'memory.available': '52%' } } },
    { kubelet: { ...kubelet, maxPods: 20 } },
  ]),
  changing(2701, 'changes with images and disks', disks(['/dev/xvda', '20G', false]), [
    { instanceStorePolicy: 'RAID0' },
    alias('bottlerocket'),
    disks(['/dev/xvda', '20G', false], ['/dev/sda1', '10G', true]),
    disks(['/dev/xvda', '15G', false]),
    disks(['/dev/yvda', '25G', true]),
  ]),
  anew(2776, 'changes with the types of EC2', 'describeInstanceTypes', [
    { InstanceTypes: both.map(known) },
    { InstanceTypes: [known('m5.large')] },
  ]),
  anew(2800, 'changes with the zones of a type', 'describeInstanceTypeOfferings', [
    { InstanceTypeOfferings: soldIn('m5.large') },
    { InstanceTypeOfferings: soldIn('m5.large', 'm5.xlarge') },
  ]),
  violating(2964, 'dedicated', 'default'),
  violating(2965, 'default', 'dedicated'),
  same(
    3057,
    'has nothing available in a shifted zone',
    gives(
      async () => {
        let isShifted = false;
        const shift = { appliedStatus: 'APPLIED', awayFrom: 'tz1-az1', expiryTime: 2 ** 40 };
        const world = account({
          types: ['m5.large'],
          options: { zonalShift: true },
          calls: {
            describeCluster: () => Promise.resolve({ cluster: { arn: 'arn:of-cluster' } }),
            getManagedResource: () => Promise.resolve(isShifted ? { zonalShifts: [shift] } : {}),
          },
        });
        const before = await zonesOf(world, 'm5.large');
        isShifted = true;
        world.clock.time += 31_000;
        return [before, await zonesOf(world, 'm5.large')];
      },
      [all, all.filter((zone) => zone !== zone1)].map((zones) => zones.flatMap((zone) => [zone, zone])),
    ),
  ),
  same(
    3337,
    'a type without a price gets that of a NodeOverlay',
    gives(async () => {
      const world = account({ types: [preview], prices: { 'm5.large': 0.1 } });
      const open = overlaid(await world.types())[0]?.offerings.filter(({ available }) => available);
      const needs = [oneOf(labels.instanceType, preview)];
      return [
        [...new Set(open?.map(({ price }) => price))],
        await outcomeOf(world.launch({ needs })),
        await outcomeOf(world.launch({ needs, overlaid })),
      ];
    }, [[machines[preview]![0]], 'InsufficientCapacity', preview]),
  ),
]);
