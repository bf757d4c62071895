import { CreateSecurityGroupCommand, CreateTagsCommand, DescribeSubnetsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { CreateRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { StackContext } from './components.js';

/** The name of the nodes' IAM role in the local cloud. */
export const nodeRole = (cluster: string): string => `StowageNodeRole-${cluster}`;

/**
 * Gives the local cloud what an installation has: a subnet in each of three zones and a security group, tagged
 * `karpenter.sh/discovery: <cluster>`, the nodes' role, and the interruption queue. Returns the queue's URL.
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
    const vpc = chosen[0]?.VpcId;
    const group = await ec2.send(
      new CreateSecurityGroupCommand({
        GroupName: `${cluster}-nodes`,
        Description: `Nodes of ${cluster}`,
        ...(vpc !== undefined && { VpcId: vpc }),
      }),
    );
    const tagged = [...chosen.map((subnet) => subnet.SubnetId!), group.GroupId!];
    await ec2.send(new CreateTagsCommand({ Resources: tagged, Tags: [discovery] }));
    const statement = { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' };
    await iam.send(
      new CreateRoleCommand({
        RoleName: nodeRole(cluster),
        AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [statement] }),
      }),
    );
    const queue = await sqs.send(
      new CreateQueueCommand({ QueueName: cluster, Attributes: { MessageRetentionPeriod: '300' } }),
    );
    return queue.QueueUrl!;
  } finally {
    for (const each of [ec2, iam, sqs]) each.destroy();
  }
}
