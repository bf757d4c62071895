import { expect, test } from '@jest/globals';
import { ec2NodeClass } from '../../test/builders/aws-world.js';
import { nodeExtras } from './node-extras.js';

const month = 730;
const volumes = (region: string, ...ebs: object[]): number => {
  const blockDeviceMappings = ebs.map((each, i) => ({ deviceName: `/dev/xvd${i}`, ebs: each }));
  const { spec } = ec2NodeClass(ebs.length === 0 ? {} : { blockDeviceMappings });
  return nodeExtras(spec, region).volumes * month;
};

// Rule `instance-types/whole-price`.
test.each<[what: string, dollars: number, ebs: object[]]>([
  ['the default disk', 20 * 0.08, []],
  ['a plain volume', 100 * 0.08, [{ volumeSize: '100Gi', volumeType: 'gp3' }]],
  [
    'a gp3 volume with its included IOPS and throughput',
    100 * 0.08,
    [{ volumeSize: '100Gi', volumeType: 'gp3', iops: 3000, throughput: 125 }],
  ],
  [
    'a gp3 volume with more IOPS and throughput than included',
    100 * 0.08 + 3000 * 0.005 + 375 * 0.04,
    [{ volumeSize: '100Gi', volumeType: 'gp3', iops: 6000, throughput: 500 }],
  ],
  ['provisioned IOPS', 50 * 0.125 + 1000 * 0.065, [{ volumeSize: '50Gi', volumeType: 'io1', iops: 1000 }]],
  [
    'IOPS in tiers',
    500 * 0.125 + 32_000 * 0.065 + 8_000 * 0.046,
    [{ volumeSize: '500Gi', volumeType: 'io2', iops: 40_000 }],
  ],
  [
    'root and data',
    20 * 0.08 + 500 * 0.045,
    [
      { volumeSize: '20Gi', volumeType: 'gp3' },
      { volumeSize: '500Gi', volumeType: 'st1' },
    ],
  ],
  ['a volume as large as its snapshot', 0, [{ snapshotID: 'snap-1' }]],
])('%s costs %d a month', (_what, dollars, ebs) => {
  expect(volumes('us-east-1', ...ebs)).toBeCloseTo(dollars, 6);
});

test('prices are at the level of the region, and in its currency', () => {
  expect(volumes('eu-central-1') / volumes('us-east-1')).toBeCloseTo(1.198);
  expect(volumes('us-gov-west-1') / volumes('us-east-1')).toBeCloseTo(0.121 / 0.096);
  const { spec } = ec2NodeClass();
  expect([nodeExtras(spec, 'sa-east-1').publicAddress, nodeExtras(spec, 'cn-north-1').publicAddress]).toEqual([
    0.005, 0.035,
  ]);
});
