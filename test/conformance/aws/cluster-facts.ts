import { ClusterFacts } from '../../../cloud/aws/cluster-facts.js';
import type { AwsOptions } from '../../../cloud/aws/options.js';
import { bindsByDefault } from '../../../cloud/aws/user-data/bottlerocket.js';
import { messageOf } from '../../../core/error-message.js';
import { refusal, steppingClock } from '../../builders/aws-world.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';

interface Cluster {
  readonly version?: string;
  readonly endpoint?: string;
}
/** What is known of a cluster that EKS describes so, or fails to. */
const knows = (
  result: (facts: ClusterFacts) => Promise<unknown>,
  expected: unknown,
  cluster: Cluster | Error,
  more: Partial<AwsOptions> = {},
): Check =>
  gives(async () => {
    let asked = 0;
    const calls = {
      describeCluster: () => {
        asked += 1;
        return cluster instanceof Error ? Promise.reject(cluster) : Promise.resolve({ $metadata: {}, cluster });
      },
    };
    const options = { region: 'us-west-2', clusterName: 'test-cluster', caBundle: 'Y2E=', ...more };
    const facts = await result(new ClusterFacts(options, calls, steppingClock())).catch(messageOf);
    return [facts, asked];
  }, expected);
const version = (facts: ClusterFacts): Promise<unknown> => facts.kubernetesVersion();
const endpoint = async (facts: ClusterFacts): Promise<unknown> => (await facts.get('AL2')).clusterEndpoint;
const ofApiServer = { kubernetesVersion: () => Promise.resolve('v1.31+') };

/** pkg/controllers/providers/version/suite_test.go */
export const versionControllerCases: readonly ConformanceCase[] = about('version of the cluster', [
  same(79, 'is the one that EKS reports', knows(version, ['1.30', 1], { version: '1.30' })),
]);

/** pkg/providers/version/suite_test.go */
export const versionCases: readonly ConformanceCase[] = about('version of the cluster', [
  same(82, 'is read from EKS where nothing else is configured', knows(version, ['1.30', 1], { version: '1.30' })),
  same(
    91,
    'is read from the API server without asking EKS',
    knows(version, ['1.31', 0], { version: '1.30' }, ofApiServer),
  ),
]);

/** pkg/operator/suite_test.go */
export const endpointCases: readonly ConformanceCase[] = about('endpoint of the cluster', [
  same(
    74,
    'is the configured one',
    knows(endpoint, ['https://own', 0], { endpoint: 'https://eks' }, { clusterEndpoint: 'https://own' }),
  ),
  same(82, 'is that of EKS otherwise', knows(endpoint, ['https://eks', 1], { endpoint: 'https://eks' })),
  same(
    98,
    'an error of EKS is passed on',
    knows(
      endpoint,
      ['eks:DescribeCluster: AccessDenied: no', 1],
      refusal('AccessDenied', 'no', 'eks:DescribeCluster', 403),
    ),
  ),
]);

const binds = (at: number, of: string, expected: boolean): ConformanceCase =>
  same(
    at,
    of === '' ? 'no version' : of,
    gives(() => bindsByDefault({ spec: { amiSelectorTerms: [{ alias: `bottlerocket@${of}` }] } } as never), expected),
  );

/** pkg/providers/version/version_test.go */
export const bindingVersionCases: readonly ConformanceCase[] = about(
  'Bottlerocket versions that set up local disks by themselves',
  [
    binds(30, '1.45.0', false),
    binds(31, '1.46.0', true),
    binds(32, '1.47.0', true),
    binds(33, '2.0.0', true),
    binds(34, 'v1.45.0', false),
    binds(35, 'v1.46.0', true),
    binds(36, '1.9.0', false),
    binds(37, 'latest', true),
    binds(38, 'invalid', false),
    binds(39, '1', false),
    binds(40, '', false),
    binds(41, '1.46', false),
    binds(42, 'abc.def.ghi', false),
  ],
);
