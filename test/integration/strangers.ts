import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  DescribeSubnetsCommand,
  EC2Client,
  type Tag,
} from '@aws-sdk/client-ec2';
import { AddRoleToInstanceProfileCommand, CreateInstanceProfileCommand, IAMClient } from '@aws-sdk/client-iam';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { nodeRole } from '../../tools/stack/node-class.js';

/** What others have in the account, by id or name. */
export interface Strangers {
  readonly templates: readonly string[];
  readonly profiles: readonly string[];
  readonly instances: readonly string[];
}

const image = '/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id';

/**
 * Fills the account with what is not Stowage's: a managed node group of the same cluster, which EKS tags `kubernetes.io/cluster/NAME:
 * owned` too, and another cluster with another autoscaler. `name` sets one call's apart from another's.
 */
export async function addStrangers(
  cloud: { readonly cluster: string; readonly region: string; readonly endpoint: string },
  name: string,
): Promise<Strangers> {
  const { cluster, region, endpoint } = cloud;
  const client = { region, endpoint, credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
  const [ec2, iam, ssm] = [new EC2Client(client), new IAMClient(client), new SSMClient(client)];
  try {
    const { Parameter } = await ssm.send(new GetParameterCommand({ Name: image }));
    const kinds = [
      {
        own: `eks-${name}`,
        path: '/',
        tags: { [`kubernetes.io/cluster/${cluster}`]: 'owned', 'eks:nodegroup-name': name },
      },
      { own: `other-${name}`, path: `/karpenter/${region}/other/uid/`, tags: autoscaled('other') },
    ];
    const instances: string[] = [];
    for (const { own, path, tags } of kinds) {
      const list = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
      await iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: own, Path: path, Tags: list }));
      await iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: own, RoleName: nodeRole(cluster) }));
      instances.push(...(await launch(ec2, own, Parameter?.Value, list)));
    }
    const names = kinds.map(({ own }) => own);
    return { templates: names, profiles: names, instances };
  } finally {
    for (const each of [ec2, iam, ssm]) each.destroy();
  }
}

const autoscaled = (cluster: string): Record<string, string> => ({
  [`kubernetes.io/cluster/${cluster}`]: 'owned',
  'eks:eks-cluster-name': cluster,
  'karpenter.sh/nodepool': 'general',
  'karpenter.k8s.aws/ec2nodeclass': 'default',
});

async function launch(ec2: EC2Client, name: string, imageId: string | undefined, tags: Tag[]): Promise<string[]> {
  await ec2.send(
    new CreateLaunchTemplateCommand({
      LaunchTemplateName: name,
      LaunchTemplateData: { ImageId: imageId },
      TagSpecifications: [{ ResourceType: 'launch-template', Tags: tags }],
    }),
  );
  const { Subnets } = await ec2.send(new DescribeSubnetsCommand({}));
  const fleet = await ec2.send(
    new CreateFleetCommand({
      Type: 'instant',
      TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
      LaunchTemplateConfigs: [
        {
          LaunchTemplateSpecification: { LaunchTemplateName: name, Version: '$Latest' },
          Overrides: [{ InstanceType: 'm5.large', SubnetId: Subnets?.[0]?.SubnetId }],
        },
      ],
      TagSpecifications: [{ ResourceType: 'instance', Tags: tags }],
    }),
  );
  return (fleet.Instances ?? []).flatMap(({ InstanceIds = [] }) => InstanceIds);
}
