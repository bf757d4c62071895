import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateTagsCommand,
  DescribeKeyPairsCommand,
  DescribeSubnetsCommand,
  EC2Client,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2';
import { labels } from '../../api/labels.js';
import type { LaunchedInstance } from '../../cloud/port.js';
import type { Cluster } from './cluster.js';
import { type Choice, type Machines, NotPossible } from './machines.js';
import { type ClassName, nodeClassOf, poolName, type Target } from './target.js';

interface StepWorld {
  readonly target: Target;
  readonly machines: Machines;
  readonly cluster: Cluster;
  /** Replaces AWS' own endpoints. */
  readonly endpoint: string | undefined;
  /** Of the step. */
  readonly signal: AbortSignal;
}

export interface Step {
  readonly name: string;
  readonly about: string;
  /** How long it may take, and its machines may run. */
  readonly minutes: number;
  /** Returns what was seen. Throws `NotPossible` for what the account does not have, anything else for a failure. */
  readonly run: (world: StepWorld) => Promise<string>;
}

const efa = 'vpc.amazonaws.com/efa';

/** Launches one machine of the cheapest types. */
async function launchOne(
  { machines, signal }: StepWorld,
  className: ClassName,
  minutes: number,
  capacityType: Choice['capacityType'] = 'on-demand',
): Promise<LaunchedInstance> {
  const nodeClass = await machines.ready(className, signal);
  const choice = await machines.cheapest(nodeClass, capacityType, signal);
  machines.hold(choice, 1, minutes);
  return machines.launch(nodeClass, choice, machines.claim(choice));
}

async function join(world: StepWorld, className: ClassName, minutes: number): Promise<string> {
  const launched = await launchOne(world, className, minutes);
  const node = await world.cluster.joined(launched.providerId, world.signal);
  const own = node.metadata.labels?.[labels.nodePool];
  if (own !== poolName)
    throw new Error(`the Node's label ${labels.nodePool} is ${own ?? 'absent'}: its user data did not reach kubelet`);
  return `${launched.instanceType} joined as ${node.metadata.name ?? ''}, kubelet ${node.status?.nodeInfo?.kubeletVersion ?? ''}`;
}

const policy: Step = {
  name: 'policy',
  about: 'the credentials allow what deploy/iam-policy.json allows, and no more',
  minutes: 2,
  run: async ({ target, machines, endpoint }) => {
    const tried = await machines.provider.account!.permissions();
    const refused = [...tried].filter(([, error]) => error !== undefined).map(([action]) => action);
    if (refused.length > 0) throw new Error(`not allowed: ${refused.join(', ')}`);
    const allowed = await misuses(target, endpoint);
    if (allowed.length > 0) throw new Error(`allowed although the policy has it not: ${allowed.join(', ')}`);
    return `${tried.size} reads are allowed, and each of the misuses is refused`;
  },
};

const nodeClassFromNothing: Step = {
  name: 'node-class',
  about: 'a node class from nothing: its profile is made, and it becomes Ready when EC2 has heard of that',
  minutes: 5,
  run: async ({ target, machines, signal }) => {
    await machines.provider.cleanUpNodeClass(nodeClassOf(target, 'al2023'));
    const { status } = await machines.ready('al2023', signal);
    return `Ready with ${status?.amis?.length ?? 0} images, ${status?.subnets?.length ?? 0} subnets`;
  },
};

const al2023: Step = {
  name: 'al2023',
  about: 'a machine of AL2023 joins',
  minutes: 10,
  run: (world) => join(world, 'al2023', 10),
};

const bottlerocket: Step = {
  name: 'bottlerocket',
  about: 'a machine of Bottlerocket joins',
  minutes: 10,
  run: (world) => join(world, 'bottlerocket', 10),
};

const tokenReplay: Step = {
  name: 'token-replay',
  about: 'the same claim launched again is the same instance',
  minutes: 3,
  run: async (world) => {
    const { machines, signal } = world;
    const nodeClass = await machines.ready('al2023', signal);
    const choice = await machines.cheapest(nodeClass, 'on-demand', signal);
    machines.hold(choice, 2, 3);
    const claim = machines.claim(choice);
    const first = await machines.launch(nodeClass, choice, claim);
    const second = await machines.launch(nodeClass, choice, claim);
    if (first.instanceId !== second.instanceId) throw new Error('one claim and token, and two instances');
    return 'CreateFleet answered the second time what it had the first';
  },
};

const spot: Step = {
  name: 'spot',
  about: 'a spot instance',
  minutes: 3,
  run: async (world) => {
    const { capacityType, instanceType, zone } = await launchOne(world, 'al2023', 3, 'spot');
    if (capacityType !== 'spot') throw new Error(`launched ${capacityType}`);
    return `${instanceType} in ${zone}`;
  },
};

const reservation: Step = {
  name: 'reservation',
  about: 'an instance out of a capacity reservation',
  minutes: 3,
  run: async (world) => {
    if (world.target.reservation === undefined) throw new NotPossible('no --reservation is given');
    const { capacityType, instanceType } = await launchOne(world, 'reserved', 3, 'reserved');
    if (capacityType !== 'reserved') throw new Error(`launched ${capacityType}`);
    return instanceType;
  },
};

const efaInterface: Step = {
  name: 'efa',
  about: 'an instance with an EFA interface',
  minutes: 3,
  run: async ({ machines, signal }) => {
    const nodeClass = await machines.ready('al2023', signal);
    const choice = await machines.cheapest(nodeClass, 'on-demand', signal, (type) => (type.capacity[efa] ?? 0) > 0);
    machines.hold(choice, 1, 3);
    const launched = await machines.launch(nodeClass, choice, machines.claim(choice, { [efa]: '1' }));
    if ((launched.capacity[efa] ?? 0) < 1) throw new Error(`${launched.instanceType} has no EFA interface`);
    return launched.instanceType;
  },
};

const ipv6: Step = {
  name: 'ipv6',
  about: 'a machine of an IPv6 cluster joins by its IPv6 address',
  minutes: 10,
  run: async (world) => {
    if (!(await world.cluster.isIpv6())) throw new NotPossible('the cluster is one of IPv4');
    const launched = await launchOne(world, 'al2023', 10);
    const node = await world.cluster.joined(launched.providerId, world.signal);
    const { addresses = [] } = node.status ?? {};
    if (!addresses.some(({ address }) => address.includes(':')))
      throw new Error(`the Node has the addresses ${addresses.map(({ address }) => address).join(', ')}`);
    return `${launched.instanceType} joined`;
  },
};

const terminations: Step = {
  name: 'terminations',
  about: 'as many machines as --terminations says end together',
  minutes: 10,
  run: async ({ target, machines, signal }) => {
    const nodeClass = await machines.ready('al2023', signal);
    const choice = await machines.cheapest(nodeClass, 'on-demand', signal);
    machines.hold(choice, target.terminations, 10);
    const claims = Array.from({ length: target.terminations }, () => machines.claim(choice));
    const outcomes = await Promise.allSettled(claims.map((claim) => machines.launch(nodeClass, choice, claim)));
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    // EC2 shows them some seconds after it launched them: what ends is then the machines, and not the waiting.
    await sleep(target.pollMs, undefined, { signal });
    const ended = await machines.endAll(signal);
    if (failed.length > 0) throw failed[0];
    return `${ended.length} launched and ended`;
  },
};

export const steps: readonly Step[] = [
  policy,
  nodeClassFromNothing,
  al2023,
  bottlerocket,
  tokenReplay,
  spot,
  reservation,
  efaInterface,
  ipv6,
  terminations,
];

/** Tries by dry runs, which change nothing, calls that the shipped policy must refuse. Returns those that the credentials allow. */
async function misuses(target: Target, endpoint: string | undefined): Promise<string[]> {
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
