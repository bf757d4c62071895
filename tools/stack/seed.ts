import {
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  EC2Client,
} from '@aws-sdk/client-ec2';
import { CreateRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { StackContext } from './components.js';
import { nodeRole } from './node-class.js';

/**
 * Gives the local cloud what an installation has: a subnet in each of three zones and a security group, tagged
 * `karpenter.sh/discovery: <cluster>`, the nodes' role, and the interruption queue. What is there already is kept.
 * Returns the queue's URL.
 */
export async function seedCloud(
  context: Pick<StackContext, 'cluster' | 'region'> & { ports: Pick<StackContext['ports'], 'proxy'> },
): Promise<string> {
  const { cluster, region, ports } = context;
  const client = {
    region,
    endpoint: `http://127.0.0.1:${ports.proxy}`,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
  const discovery = { Key: 'karpenter.sh/discovery', Value: cluster };
  const ec2 = new EC2Client(client);
  const iam = new IAMClient(client);
  const sqs = new SQSClient(client);
  try {
    const { Subnets: subnets = [] } = await ec2.send(new DescribeSubnetsCommand({}));
    const chosen = subnets
      .toSorted((left, right) => String(left.AvailabilityZone).localeCompare(String(right.AvailabilityZone)))
      .slice(0, 3);
    const group = await securityGroup(ec2, `${cluster}-nodes`, chosen[0]?.VpcId);
    const tagged = [...chosen.map((subnet) => subnet.SubnetId!), group];
    await ec2.send(new CreateTagsCommand({ Resources: tagged, Tags: [discovery] }));
    await role(iam, nodeRole(cluster));
    const queue = await sqs.send(
      new CreateQueueCommand({ QueueName: cluster, Attributes: { MessageRetentionPeriod: '300' } }),
    );
    return queue.QueueUrl!;
  } finally {
    for (const each of [ec2, iam, sqs]) each.destroy();
  }
}

const isNamed = (error: unknown, ...names: readonly string[]): boolean =>
  error instanceof Error && names.some((name) => error.name.startsWith(name));

async function securityGroup(ec2: EC2Client, name: string, vpc: string | undefined): Promise<string> {
  try {
    const create = new CreateSecurityGroupCommand({
      GroupName: name,
      Description: name,
      ...(vpc !== undefined && { VpcId: vpc }),
    });
    return (await ec2.send(create)).GroupId!;
  } catch (error) {
    if (!isNamed(error, 'InvalidGroup.Duplicate')) throw error;
    const filter = { Name: 'group-name', Values: [name] };
    const { SecurityGroups } = await ec2.send(new DescribeSecurityGroupsCommand({ Filters: [filter] }));
    return SecurityGroups![0]!.GroupId!;
  }
}

async function role(iam: IAMClient, name: string): Promise<void> {
  const statement = { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' };
  const document = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  try {
    await iam.send(new CreateRoleCommand({ RoleName: name, AssumeRolePolicyDocument: document }));
  } catch (error) {
    if (!isNamed(error, 'EntityAlreadyExists')) throw error;
  }
}
