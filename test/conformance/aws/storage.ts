import { daemonSet } from '../../cases/objects.js';
import { machineResources } from '../../../cloud/aws/capacity.js';
import { resolvedAmiFamily } from '../../../api/aws/node-class-rules.js';
import { about, gives, same, type ConformanceCase } from '../conformance-case.js';
import { pod } from '../world.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import type { Given } from './account.js';
import { alias, custom } from './launch-templates.js';
import { known } from './machines.js';
import { plansOn, type Outcome } from './plans.js';

const storage = (size: string, name = 'p') => pod(name, { requests: { 'ephemeral-storage': size } });

const plan = (
  at: number,
  title: string,
  spec: object,
  sizes: readonly string[],
  expected: Partial<Outcome>,
): ConformanceCase =>
  same(
    at,
    title,
    plansOn(
      { types: ['m5.large', 'm5.xlarge', 'm6idn.32xlarge'], spec } satisfies Given,
      sizes.map((size, i) => storage(size, `p-${i}`)),
      expected,
    ),
  );
const disks = (...mapped: readonly (readonly [device: string, size: string, root?: boolean])[]): object => ({
  blockDeviceMappings: mapped.map(([deviceName, volumeSize, rootVolume]) => ({
    ...{ deviceName, ebs: { volumeSize } },
    ...(rootVolume === undefined ? {} : { rootVolume }),
  })),
});
const none: Partial<Outcome> = { left: [] };
const left = (...names: readonly string[]): Partial<Outcome> => ({ left: names });

/** MiB that a node of m5.xlarge keeps from pods. */
const kept = (at: number, title: string, spec: object, expected: number): ConformanceCase =>
  same(
    at,
    title,
    gives(() => {
      const made = ec2NodeClass(spec).spec;
      const settings = { family: resolvedAmiFamily(made), spec: made, vmMemoryOverheadPercent: 0, reservedEnis: 0 };
      return (machineResources(known('m5.xlarge'), settings).overhead.memory ?? 0) / 2 ** 20;
    }, expected),
  );

/** pkg/providers/launchtemplate/suite_test.go, what nodes have room for. */
export const storageCases: readonly ConformanceCase[] = about('ephemeral storage', [
  same(
    832,
    'is used by DaemonSets too',
    plansOn(
      { types: ['m5.large', 'm5.xlarge'] },
      [daemonSet('d', { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi' }), pod('p', {})],
      none,
    ),
  ),
  plan(845, 'a small request', {}, ['1G'], none),
  plan(854, 'half of a disk', {}, ['10Gi'], none),
  plan(863, 'no more than is left of the disk', {}, ['19Gi'], left('p-0')),
  plan(872, 'of local disks under RAID0', { instanceStorePolicy: 'RAID0' }, ['5000Gi'], {
    left: [],
    types: ['m6idn.32xlarge'],
  }),
  same(
    885,
    'two pods of half a disk each get two nodes',
    gives(async () => {
      const { outcome } = plansOn({ types: ['m5.large'] }, [storage('10Gi', 'a'), storage('10Gi', 'b')], {
        left: [],
        types: [],
      });
      return ((await outcome()) as Outcome).types.length;
    }, 2),
  ),
  plan(908, 'the pod of two that fits', {}, ['10Gi', '150Gi'], left('p-1')),
  plan(928, 'a request above every disk', {}, ['150Gi'], left('p-0')),
  plan(939, "of the node class's disk", disks(['/dev/xvda', '50G'], ['/dev/xvdb', '20G']), ['25Gi'], none),
  plan(
    966,
    'of the last disk for Custom',
    { ...custom, ...disks(['/dev/xvda', '20G'], ['/dev/xvdb', '40G']) },
    ['25Gi'],
    none,
  ),
  plan(
    996,
    'of the disk marked as root',
    { ...custom, ...disks(['/dev/xvda', '20G'], ['/dev/xvdb', '40G', true], ['/dev/xvdc', '20G']) },
    ['25Gi'],
    none,
  ),
  kept(1059, 'reserved memory by interfaces on AL2', alias('al2'), 993),
  kept(1113, 'reserved memory by maxPods on Bottlerocket', alias('bottlerocket'), 993),
  kept(
    1142,
    'reserved memory by the given number of pods',
    { ...alias('bottlerocket'), kubelet: { maxPods: 110 } },
    1565,
  ),
]);
