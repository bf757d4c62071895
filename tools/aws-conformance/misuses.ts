import {
  CreateTagsCommand,
  DescribeKeyPairsCommand,
  DescribeSubnetsCommand,
  EC2Client,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import type { Target } from './target.js';

/** What the shipped policy refuses, tried out by dry runs: nothing is changed, whatever the credentials allow. Returns what is allowed. */
export async function misuses(target: Target, endpoint: string | undefined): Promise<string[]> {
  const { region, discovery } = target;
  const ec2 = new EC2Client({ region, ...(endpoint !== undefined && { endpoint }) });
  try {
    const filter = { Name: 'tag:karpenter.sh/discovery', Values: [discovery] };
    const { Subnets = [] } = await ec2.send(new DescribeSubnetsCommand({ Filters: [filter] }));
    const subnet = Subnets[0]?.SubnetId ?? '';
    const tag = { Key: 'aws-conformance', Value: 'misuse' };
    const tries: Record<string, () => Promise<unknown>> = {
      'to tag a subnet': () => ec2.send(new CreateTagsCommand({ DryRun: true, Resources: [subnet], Tags: [tag] })),
      'to launch without a template': () =>
        ec2.send(
          new RunInstancesCommand({
            DryRun: true,
            MinCount: 1,
            MaxCount: 1,
            SubnetId: subnet,
            InstanceType: 't3.nano',
          }),
        ),
      'to read key pairs': () => ec2.send(new DescribeKeyPairsCommand({ DryRun: true })),
    };
    const allowed: string[] = [];
    for (const [what, attempt] of Object.entries(tries)) if (!(await isRefused(attempt))) allowed.push(what);
    return allowed;
  } finally {
    ec2.destroy();
  }
}

async function isRefused(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return false;
  } catch (error) {
    return (error as Error).name === 'UnauthorizedOperation';
  }
}
