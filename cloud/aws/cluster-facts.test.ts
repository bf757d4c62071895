import { describe, expect, test } from '@jest/globals';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { ClusterFacts } from './cluster-facts.js';
import type { AwsOptions } from './options.js';

const cluster = {
  endpoint: 'https://eks',
  certificateAuthority: { data: 'RUtT' },
  kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16' },
};

function facts(options: Partial<AwsOptions>, answer: object | Error = cluster) {
  let asked = 0;
  const describeCluster = () => {
    asked += 1;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ cluster: answer });
  };
  const all = { region: 'eu-central-1', clusterName: 'c', ...options };
  return {
    facts: new ClusterFacts(all, { describeCluster } as unknown as AwsCalls, steppingClock()),
    asked: () => asked,
  };
}

const endpoint = { clusterEndpoint: 'https://configured' };
const cidr = { serviceCidr: '172.20.0.0/16' };
const apiServerCa = () => Promise.resolve<string | undefined>('S1VCRQ==');
const denied = refusal('AccessDeniedException', 'no', 'eks:DescribeCluster', 403);

describe('the certificates that nodes trust', () => {
  test('come from EKS where it is asked for the endpoint anyway', async () => {
    const of = facts({ ...endpoint, apiServerCa });
    await expect(of.facts.get('AL2023')).resolves.toEqual({
      clusterEndpoint: 'https://configured',
      caBundle: 'RUtT',
      serviceCidr: '10.100.0.0/16',
    });
  });

  test('come from the kubeconfig where EKS need not be asked', async () => {
    const of = facts({ ...endpoint, ...cidr, apiServerCa });
    await expect(of.facts.get('AL2023')).resolves.toMatchObject({ caBundle: 'S1VCRQ==' });
    expect(of.asked()).toBe(0);
  });

  test.each(['AL2023', 'Bottlerocket', 'AL2'] as const)(
    'come from EKS where there is no other source: %s',
    async (family) => {
      await expect(facts({ ...endpoint, ...cidr }).facts.get(family)).resolves.toMatchObject({ caBundle: 'RUtT' });
    },
  );

  test.each(['AL2023', 'Bottlerocket'] as const)('without any, no %s node is launched', async (family) => {
    await expect(facts({ ...endpoint, ...cidr }, denied).facts.get(family)).rejects.toMatchObject({
      type: 'NodeClassNotReady',
      message: expect.stringMatching(/^ClusterCAResolutionFailed: .*CLUSTER_CA_BUNDLE/),
    });
  });

  test('without them AL2 nodes ask EKS themselves', async () => {
    await expect(facts({ ...endpoint, ...cidr }, denied).facts.get('AL2')).resolves.toMatchObject({
      caBundle: undefined,
    });
  });
});
