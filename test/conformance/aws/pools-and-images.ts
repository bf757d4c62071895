import { awsLabels, awsWellKnownLabels } from '../../../api/aws/labels.js';
import { coreWellKnownLabels, labels } from '../../../api/labels.js';
import { bindsByDefault } from '../../../cloud/aws/user-data/bottlerocket.js';
import { casesOf, judged, type Judgement } from '../schemas/judge.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';

const requirements = casesOf('NodePool', 'spec.template.spec.requirements');
const known = [...new Set([...coreWellKnownLabels, ...awsWellKnownLabels])].filter((key) => key !== labels.nodePool);
/** Sets of values that are closed. */
const closed: readonly string[] = [labels.capacityType, awsLabels.instanceTenancy];
const valued = (
  at: number,
  title: string,
  expected: Judgement,
  key: string,
  ...values: readonly string[]
): ConformanceCase => requirements(at, title, expected, [oneOf(key, ...values)]);

/** pkg/apis/v1/nodepool_validation_cel_test.go */
export const awsNodePoolCases: readonly ConformanceCase[] = about('validation of NodePools with AWS labels', [
  requirements(
    58,
    'labels of the provider',
    'accepted',
    ...known.filter((key) => !closed.includes(key)).map((key) => [oneOf(key, 'test')]),
  ),
  valued(70, 'unknown capacity types alone', 'invalid', labels.capacityType, 'xspot'),
  valued(82, 'a known capacity type', 'accepted', labels.capacityType, 'on-demand'),
  valued(94, 'one known capacity type of two', 'accepted', labels.capacityType, 'on-demand', 'xspot'),
  valued(107, 'unknown tenancies alone', 'invalid', awsLabels.instanceTenancy, 'xdedicated'),
  valued(119, 'a known tenancy', 'accepted', awsLabels.instanceTenancy, 'default'),
  valued(131, 'one known tenancy of two', 'accepted', awsLabels.instanceTenancy, 'default', 'xdedicated'),
  same(
    146,
    'labels of the provider in the template',
    judged(
      'NodePool',
      'accepted',
      ...known.map((key) => ({ 'spec.template.metadata': { labels: { [key]: 'test' } } })),
    ),
  ),
]);

/** Whether Bottlerocket binds directories to local disks by itself: of what its version is asked for, from 1.46 on. */
const binds = (expected: boolean, term: object, ...names: readonly string[]): Check =>
  gives(() => {
    const amis = names.map((name, i) => ({ id: `ami-${i}`, name, requirements: [] }));
    return bindsByDefault({ spec: { amiSelectorTerms: [term] }, status: { amis } } as never);
  }, expected);
const image = (version: string): string => `bottlerocket-aws-k8s-1.33-x86_64-${version}-431fe75a`;

/** pkg/providers/amifamily/bottlerocket_test.go */
export const bottlerocketVersionCases: readonly ConformanceCase[] = about('version of a Bottlerocket image', [
  same(26, 'is that of the alias', binds(true, { alias: 'bottlerocket@v1.46.0' })),
  same([], 'is that of an earlier alias', binds(false, { alias: 'bottlerocket@v1.45.0' })),
  same(38, 'is the latest for the latest alias', binds(true, { alias: 'bottlerocket@latest' })),
  same(50, 'is read from its name', binds(true, { name: image('v1.46.0') })),
  same(62, 'is that of the image with the id', binds(true, { id: 'ami-0' }, image('v1.47.0'))),
  same(77, 'is that of the selected image', binds(true, { tags: { Environment: 'prod' } }, image('v2.0.1'))),
  same(92, 'is unknown without an image', binds(false, { name: 'some-other-ami' })),
]);
