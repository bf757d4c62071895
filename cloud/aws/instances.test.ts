import { describe, expect, test } from '@jest/globals';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { Instances } from './instances.js';

const protectedText = (id: string) =>
  `The instance '${id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.`;

/** EC2 that ends all instances of a call or none. */
function ec2(refuses: (id: string) => Error | undefined) {
  const ended: string[] = [];
  let asked = 0;
  const calls = {
    terminateInstances: ({ InstanceIds: ids = [] }: { InstanceIds?: string[] }) => {
      asked += 1;
      const refused = ids.map(refuses).find((error) => error !== undefined);
      if (refused !== undefined) return Promise.reject(refused);
      ended.push(...ids);
      return Promise.resolve({
        TerminatingInstances: ids.map((id) => ({ InstanceId: id, CurrentState: { Name: 'shutting-down' } })),
      });
    },
    describeInstances: ({ InstanceIds: ids = [] }: { InstanceIds?: string[] }) =>
      ids.some((id) => id.startsWith('i-gone'))
        ? Promise.reject(refusal('InvalidInstanceID.NotFound'))
        : Promise.resolve({ Reservations: [{ Instances: ids.map((id) => ({ InstanceId: id })) }] }),
  } as unknown as AwsCalls;
  return { instances: new Instances(calls, 'c', steppingClock()), ended, asked: () => asked };
}

const ids = Array.from({ length: 500 }, (_, i) => `i-${i}`);

describe('terminations that share a call', () => {
  test('an instance with termination protection does not stop the others', async () => {
    const { instances, ended, asked } = ec2((id) =>
      id === 'i-77' ? refusal('OperationNotPermitted', protectedText(id), 'ec2:TerminateInstances') : undefined,
    );
    const outcome = await Promise.allSettled(ids.map((id) => instances.terminate(id)));
    expect(outcome.filter(({ status }) => status === 'fulfilled')).toHaveLength(499);
    expect(ended).toHaveLength(499);
    expect(outcome[77]).toMatchObject({
      status: 'rejected',
      reason: { type: 'Conflict', message: expect.stringContaining('i-77') },
    });
    expect(asked()).toBeLessThan(25);
  });

  test('an instance that the policy denies for its tags does not stop the others', async () => {
    const { instances } = ec2((id) =>
      id === 'i-3' ? refusal('UnauthorizedOperation', 'no', 'ec2:TerminateInstances', 403) : undefined,
    );
    const outcome = await Promise.allSettled(ids.map((id) => instances.terminate(id)));
    expect(outcome.filter(({ status }) => status === 'rejected')).toEqual([
      { status: 'rejected', reason: expect.objectContaining({ type: 'Denied' }) },
    ]);
  });

  test('a denial for an absent instance, which has no tags, counts as gone', async () => {
    const { instances } = ec2((id) =>
      id.startsWith('i-gone') ? refusal('UnauthorizedOperation', 'no', 'ec2:TerminateInstances', 403) : undefined,
    );
    await expect(Promise.all(['i-0', 'i-gone'].map((id) => instances.terminate(id)))).resolves.toEqual([
      'terminating',
      'gone',
    ]);
  });

  test('a call that may not be made at all is not made for each instance', async () => {
    const { instances, asked } = ec2(() => refusal('UnauthorizedOperation', 'no', 'ec2:TerminateInstances', 403));
    const outcome = await Promise.allSettled(ids.map((id) => instances.terminate(id)));
    expect(outcome.every(({ status }) => status === 'rejected')).toBe(true);
    expect(asked()).toBeLessThan(40);
  });

  test('an absent instance is reported as gone; an unreachable EC2 fails for all', async () => {
    const gone = ec2((id) => (id === 'i-1' ? refusal('InvalidInstanceID.NotFound') : undefined));
    await expect(Promise.all(['i-0', 'i-1'].map((id) => gone.instances.terminate(id)))).resolves.toEqual([
      'terminating',
      'gone',
    ]);
    const away = ec2(() => refusal('InternalError', 'x', 'ec2:TerminateInstances', 500));
    await expect(away.instances.terminate('i-0')).rejects.toMatchObject({ type: 'Unavailable' });
  });
});

test('an instance launched a moment ago is not reported as gone though EC2 does not show it yet', async () => {
  const clock = steppingClock();
  const unknown = () => Promise.reject(refusal('InvalidInstanceID.NotFound'));
  const calls = { terminateInstances: unknown, describeInstances: unknown } as unknown as AwsCalls;
  const instances = new Instances(calls, 'c', clock);
  instances.launched('i-0');
  await expect(instances.terminate('i-0')).rejects.toMatchObject({ type: 'Unavailable' });
  await expect(instances.get('i-0')).rejects.toMatchObject({ type: 'Unavailable' });
  clock.time += 60_000;
  await expect(instances.terminate('i-0')).resolves.toBe('gone');
  // Another process launched it, and its claim says when.
  await expect(instances.terminate('i-1', clock.time - 1_000)).rejects.toMatchObject({ type: 'Unavailable' });
  await expect(instances.terminate('i-1', clock.time - 60_000)).resolves.toBe('gone');
});

test('a tag that the user gave the instance is kept', async () => {
  const made: unknown[] = [];
  const whole = {
    InstanceId: 'i-0',
    State: { Name: 'running' },
    Placement: { AvailabilityZone: 'a' },
    LaunchTime: new Date(0),
  };
  const seen: { Key: string; Value: string }[] = [];
  const calls = {
    describeInstances: () =>
      Promise.resolve({
        Reservations: [{ Instances: [{ ...whole, Tags: seen }] }],
      }),
    createTags: ({ Tags }: { Tags?: unknown[] }) => Promise.resolve(void made.push(Tags)),
  } as unknown as AwsCalls;
  const instances = new Instances(calls, 'c', steppingClock());
  // EC2 shows an instance before it shows its tags.
  await expect(instances.tag('i-0', { Name: 'node-1' })).rejects.toMatchObject({ type: 'Unavailable' });
  seen.push({ Key: 'Name', Value: 'web' }, { Key: 'kubernetes.io/cluster/c', Value: 'owned' });
  await instances.tag('i-0', { Name: 'node-1', 'karpenter.sh/nodeclaim': 'c1' });
  const ofCluster = { Key: 'eks:eks-cluster-name', Value: 'c' };
  expect(made).toEqual([[ofCluster, { Key: 'karpenter.sh/nodeclaim', Value: 'c1' }]]);

  seen.push(ofCluster);
  await instances.tag('i-0', { Name: 'node-1' });
  expect(made).toHaveLength(1);
});

test('listed instances are those launched for a NodePool and node class of the cluster', async () => {
  const asked: unknown[] = [];
  const calls = {
    describeInstances: (input: unknown) => {
      asked.push(input);
      return Promise.resolve({});
    },
  };
  await new Instances(calls as unknown as AwsCalls, 'c', steppingClock()).list();
  const filters = [
    ['tag:eks:eks-cluster-name', ['c']],
    ['tag-key', ['karpenter.sh/nodepool']],
    ['tag-key', ['karpenter.k8s.aws/ec2nodeclass']],
  ].map(([Name, Values]) => ({ Name, Values }));
  expect(asked).toEqual([expect.objectContaining({ Filters: expect.arrayContaining(filters) })]);
});

// Rule `launch/instance-ended`.
test.each([
  [
    'a disk that cannot be decrypted',
    { Code: 'Client.InternalError', Message: 'Client.InternalError: Client error on launch' },
    { message: 'instance i-0 is terminated: Client.InternalError: Client error on launch', isReclaimed: false },
  ],
  [
    'a spot instance taken back',
    { Code: 'Server.SpotInstanceTermination' },
    { message: 'instance i-0 is terminated: Server.SpotInstanceTermination', isReclaimed: true },
  ],
  ['no reason', undefined, { message: 'instance i-0 is terminated', isReclaimed: false }],
])('the reason why an instance ended is read from EC2: %s', async (_, StateReason, expected) => {
  const described = { InstanceId: 'i-0', State: { Name: 'terminated' }, StateReason };
  const calls = { describeInstances: () => Promise.resolve({ Reservations: [{ Instances: [described] }] }) };
  const instances = new Instances(calls as unknown as AwsCalls, 'c', steppingClock());
  await expect(instances.whyEnded('i-0')).resolves.toEqual(expected);
});

test('many instances are described in one call', async () => {
  let asked = 0;
  const calls = {
    describeInstances: () => Promise.resolve((asked++, { Reservations: [] })),
  } as unknown as AwsCalls;
  const instances = new Instances(calls, 'c', steppingClock());
  await Promise.all(ids.map((id) => instances.whyEnded(id)));
  expect(asked).toBe(1);
});

test('a running or unknown instance has no reason for its end', async () => {
  const running = { InstanceId: 'i-0', State: { Name: 'running' } };
  const calls = {
    describeInstances: ({ InstanceIds: [id] = [] }: { InstanceIds?: string[] }) =>
      id === 'i-0'
        ? Promise.resolve({ Reservations: [{ Instances: [running] }] })
        : Promise.reject(refusal('InvalidInstanceID.NotFound')),
  };
  const instances = new Instances(calls as unknown as AwsCalls, 'c', steppingClock());
  await expect(instances.whyEnded('i-0')).resolves.toBeUndefined();
  await expect(instances.whyEnded('i-1')).resolves.toBeUndefined();
});
