import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DescribeInstancesCommand,
  DescribeSubnetsCommand,
  EC2Client,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../api/kubernetes.js';
import { KubernetesApi, KubernetesError } from '../../tools/stack/node-joiner/kubernetes-api.js';
import { useStack } from './shared-stack.js';

const { stack, cloud } = useStack(['joiner']);

const imageParameter = '/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id';

const userData = (endpoint: string, cluster: string): string =>
  [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    '--//',
    'Content-Type: application/node.eks.aws',
    '',
    'apiVersion: node.eks.aws/v1alpha1',
    'kind: NodeConfig',
    'spec:',
    '  cluster:',
    `    name: ${cluster}`,
    `    apiServerEndpoint: ${endpoint}`,
    '  kubelet:',
    '    config:',
    '      maxPods: 29',
    '      registerWithTaints:',
    '        - { key: karpenter.sh/unregistered, effect: NoExecute }',
    '    flags:',
    '      - --node-labels="karpenter.sh/nodepool=joined,karpenter.sh/capacity-type=spot"',
    '',
    '--//--',
  ].join('\n');

describe('an instance of the local cloud', () => {
  let ec2: EC2Client;
  let kubernetes: KubernetesApi;
  const launched: string[] = [];

  beforeAll(() => {
    const { awsEndpoint, region, adminKubeconfig } = stack();
    ec2 = new EC2Client({
      region,
      endpoint: awsEndpoint!,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
    kubernetes = new KubernetesApi(adminKubeconfig!);
  });

  afterAll(async () => {
    await cloud().reclaim(launched);
    ec2.destroy();
  });

  async function launch(instanceType: 'm5.large' | 'g4dn.xlarge', template: string): Promise<string> {
    const { region, awsEndpoint, cluster, apiserver } = stack();
    const ssm = new SSMClient({
      region,
      endpoint: awsEndpoint!,
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
    const { Parameter } = await ssm.send(new GetParameterCommand({ Name: imageParameter }));
    ssm.destroy();
    const filter = { Name: 'tag:karpenter.sh/discovery', Values: [cluster] };
    const { Subnets } = await ec2.send(new DescribeSubnetsCommand({ Filters: [filter] }));
    await ec2.send(
      new CreateLaunchTemplateCommand({
        LaunchTemplateName: template,
        LaunchTemplateData: {
          ImageId: Parameter!.Value!,
          UserData: Buffer.from(userData(apiserver!, cluster)).toString('base64'),
          BlockDeviceMappings: [{ DeviceName: '/dev/xvda', Ebs: { VolumeSize: 40 } }],
        },
      }),
    );
    const fleet = await ec2.send(
      new CreateFleetCommand({
        Type: 'instant',
        TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'spot' },
        LaunchTemplateConfigs: [
          {
            LaunchTemplateSpecification: { LaunchTemplateName: template, Version: '$Latest' },
            Overrides: Subnets!.map(({ SubnetId }) => ({ InstanceType: instanceType, SubnetId: SubnetId! })),
          },
        ],
        TagSpecifications: [
          { ResourceType: 'instance', Tags: [{ Key: `kubernetes.io/cluster/${cluster}`, Value: 'owned' }] },
        ],
      }),
    );
    const id = fleet.Instances![0]!.InstanceIds![0]!;
    launched.push(id);
    return id;
  }

  /** Asks until the answer is there; the test's own timeout bounds it. */
  async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const found = await ask();
      if (found !== undefined) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async function nodeOf(instanceId: string): Promise<Node | undefined> {
    const { items } = await kubernetes.get<{ items: Node[] }>('/api/v1/nodes');
    return items.find((node) => node.spec?.providerID?.endsWith(instanceId));
  }

  const isReady = (node: Node | undefined): boolean =>
    node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

  const readyNode = (instanceId: string): Promise<Node> =>
    eventually(async () => {
      const node = await nodeOf(instanceId);
      return isReady(node) ? node : undefined;
    });

  test('joins as its user data says, runs a pod, and leaves when it is terminated', async () => {
    const id = await launch('m5.large', 'stack-test-general');
    const node = await readyNode(id);
    const path = `/api/v1/nodes/${node.metadata.name!}`;

    expect(node.metadata.labels).toMatchObject({
      'karpenter.sh/nodepool': 'joined',
      'karpenter.sh/capacity-type': 'spot',
      'node.kubernetes.io/instance-type': 'm5.large',
      'kubernetes.io/arch': 'amd64',
      'topology.kubernetes.io/region': 'us-west-2',
    });
    expect(node.spec!.taints).toContainEqual({ key: 'karpenter.sh/unregistered', effect: 'NoExecute' });
    expect(node.status!.capacity).toMatchObject({ cpu: '2', pods: '29' });

    await eventually(async () => {
      const { spec } = await kubernetes.get<Node>(path);
      const keys = (spec?.taints ?? []).map(({ key }) => key);
      return keys.every((key) => key === 'karpenter.sh/unregistered') ? true : undefined;
    });
    await kubernetes.patch(path, { spec: { taints: [] } });
    const pods = '/api/v1/namespaces/default/pods';
    await kubernetes.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'stack-test' },
      spec: {
        nodeSelector: { 'karpenter.sh/nodepool': 'joined' },
        containers: [{ name: 'main', image: 'none', resources: { requests: { cpu: '1' } } }],
      },
    });
    const pod = await eventually(async () => {
      const found = await kubernetes.get<Pod>(`${pods}/stack-test`);
      return found.status?.phase === 'Running' ? found : undefined;
    });
    expect(pod.spec.nodeName).toBe(node.metadata.name);

    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    await eventually(async () => ((await nodeOf(id)) === undefined ? true : undefined));
    const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
    expect(Reservations![0]!.Instances![0]!.State!.Name).toBe('terminated');
    // The pod goes with its node, as the garbage collector of a real cluster sees to.
    await kubernetes.delete(`${pods}/stack-test`).catch((error: unknown) => {
      if (!(error instanceof KubernetesError) || error.status !== 404) throw error;
    });
  });

  test('reports its GPUs once the device plugin has started', async () => {
    await cloud().configure({ joiner: { deviceDelayMs: 1500 } });
    const id = await launch('g4dn.xlarge', 'stack-test-gpu');
    const early = await readyNode(id);
    expect(early.status!.allocatable!['nvidia.com/gpu']).toBeUndefined();
    const late = await eventually(async () => {
      const node = await nodeOf(id);
      return node?.status?.allocatable?.['nvidia.com/gpu'] === undefined ? undefined : node;
    });
    expect(late.status!.capacity!['nvidia.com/gpu']).toBe('1');
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    await eventually(async () => ((await nodeOf(id)) === undefined ? true : undefined));
  });

  test('stays registered when the API server restarts', async () => {
    const id = await launch('m5.large', 'stack-test-outage');
    await readyNode(id);
    await stack().stopComponent('kube-apiserver', true);
    await expect(nodeOf(id)).rejects.toThrow();
    await stack().startComponent('kube-apiserver');
    expect(isReady(await nodeOf(id))).toBe(true);
    await ec2.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    await eventually(async () => ((await nodeOf(id)) === undefined ? true : undefined));
  });

  test('becomes NotReady and Ready again as its kubelet is scripted', async () => {
    const id = await launch('m5.large', 'stack-test-health');
    await readyNode(id);
    await cloud().configure({ joiner: { conditions: { [id]: [{ type: 'Ready', status: 'False' }] } } });
    await eventually(async () => (isReady(await nodeOf(id)) ? undefined : true));
    await cloud().configure({ joiner: { conditions: {} } });
    await readyNode(id);
  });
});
