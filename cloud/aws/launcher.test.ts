import type { CreateFleetCommandInput, CreateFleetError } from '@aws-sdk/client-ec2';
import { describe, expect, test } from '@jest/globals';
import { ec2NodeClass, refusal, steppingClock } from '../../test/builders/aws-world.js';
import { nodeClaim } from '../../test/builders/activity-world.js';
import type { InstanceType } from '../../core/instance-type.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import { ClientTokens, Launcher, type LauncherDeps } from './launcher.js';

const zone = 'eu-central-1a';
const offering = (capacityType: string, price: number) => ({
  requirements: [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: [capacityType] },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
  ],
  price,
  available: true,
});
const type = {
  name: 'm5.large',
  requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] }],
  offerings: [offering('spot', 0.04), offering('on-demand', 0.1)],
  capacity: { cpu: 2000, memory: 8e9, pods: 29 },
  overhead: {},
} as unknown as InstanceType;

const capacityTypeOf = (input: CreateFleetCommandInput): string =>
  input.TargetCapacitySpecification?.DefaultTargetCapacityType ?? '';
const instance = (capacityType: string) => ({
  InstanceIds: ['i-1'],
  InstanceType: 'm5.large',
  Lifecycle: capacityType,
  LaunchTemplateAndOverrides: { Overrides: { SubnetId: 'subnet-1', InstanceType: 'm5.large', AvailabilityZone: zone } },
});

const sent: CreateFleetCommandInput[] = [];

/** What comes of a launch that may be of either capacity type; `answer` says what EC2 has to each CreateFleet. */
async function launch(
  answer: (capacityType: string) => readonly CreateFleetError[] | Error,
  { spec = {}, marks = {} } = {},
) {
  const clock = steppingClock();
  const deps = {
    calls: {
      createFleet: (input: CreateFleetCommandInput) => {
        sent.push(input);
        const said = answer(capacityTypeOf(input));
        if (said instanceof Error) return Promise.reject(said);
        const launched = said.length === 0 ? { Instances: [instance(capacityTypeOf(input))] } : {};
        return Promise.resolve({ Errors: said, ...launched });
      },
    },
    clusterName: 'c',
    instances: { launched: () => undefined, ofClaim: () => Promise.resolve([]) },
    subnets: {
      choose: () => Promise.resolve(new Map([[zone, { id: 'subnet-1', zone, freeAddresses: 100 }]])),
      reserve: () => () => undefined,
      markExhausted: () => undefined,
    },
    templates: { forget: () => undefined },
    planner: { plan: () => Promise.resolve(new Map([['m5.large', { template: 'lt-1', imageId: 'ami-1' }]])) },
    unavailable: new UnavailableOfferings(() => clock.now()),
    reservations: { used: () => undefined, exhausted: () => undefined },
    clock,
    catalogue: () => Promise.resolve([type]),
  } as unknown as LauncherDeps;
  const nodeClass = { ...ec2NodeClass(spec), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  const plain = nodeClaim('c1');
  const claim = { ...plain, metadata: { ...plain.metadata, annotations: marks } };
  const request = { claim, nodeClass, clientToken: 'uid-c1', firstAttempt: true };
  return new Launcher(deps).launch(request);
}

const failure = (ErrorCode: string, ErrorMessage = 'words') => ({ ErrorCode, ErrorMessage });

describe('a launch that fails', () => {
  test.each([
    ['UnauthorizedOperation', 'no', 'Unauthorized'],
    ['AuthFailure', 'Not authorized for images: [ami-1]', 'AMIAuthorizationFailure'],
    ['InvalidAMIID.NotFound', 'no', 'AMINotFound'],
    ['InvalidAMIID.Malformed', 'no', 'InvalidAMIID'],
    ['InvalidUserData.Malformed', 'User data is limited to 16384 bytes', 'UserDataSizeLimitExceeded'],
    ['PendingVerification', 'no', 'AccountPendingVerification'],
    ['InternalError', 'no', 'InternalError'],
    [
      'InvalidParameterValue',
      'Value (p) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name',
      'InstanceProfileNameInvalid',
    ],
    [
      'InvalidParameter',
      'Security group sg-1 and subnet subnet-1 belong to different networks.',
      'SecurityGroupSubnetVPCMismatch',
    ],
  ])('by %s (%s) is reported as %s, wherever EC2 puts the error', async (code, words, reason) => {
    const expected = { message: expect.stringContaining(words), details: { reason } };
    await expect(launch(() => [failure(code, words)])).rejects.toMatchObject(expected);
    await expect(launch(() => refusal(code, words, 'ec2:CreateFleet'))).rejects.toMatchObject(expected);
  });

  test('a launch that fails by an unknown error has its message and no reason', async () => {
    const error = await launch(() => [failure('SomethingNew')]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('SomethingNew') });
    expect((error as { details: object }).details).not.toHaveProperty('reason');
  });
});

describe('an account without the role that spot needs', () => {
  const event = { type: 'Warning', reason: 'SpotServiceLinkedRoleCreationFailure' };
  const missing = failure('AuthFailure.ServiceLinkedRoleCreationNotPermitted');

  test('an account without the service-linked role of spot gets on-demand instances, and an event names the role', async () => {
    const result = await launch((capacityType) => (capacityType === 'spot' ? [missing] : []));
    expect(result).toMatchObject({ ok: true, value: { capacityType: 'on-demand', events: [event] } });
  });

  test('the missing service-linked role of spot is reported also where nothing can be launched', async () => {
    const result = await launch((capacityType) =>
      capacityType === 'spot' ? [missing] : [failure('InsufficientInstanceCapacity')],
    );
    expect(result).toMatchObject({ ok: false, error: { kind: 'InsufficientCapacity', events: [event] } });
  });

  test('no event about the service-linked role unless EC2 says that it is missing', async () => {
    await expect(launch(() => [])).resolves.toMatchObject({ ok: true, value: { capacityType: 'spot', events: [] } });
  });
});

// Rule `launch/fleet-request`.
test("the node class's context is passed with a launch, unless minValues were relaxed for it", async () => {
  await launch(() => [], { spec: { context: 'ctx-1' } });
  await launch(() => [], {
    spec: { context: 'ctx-1' },
    marks: { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' },
  });
  expect(sent.slice(-2).map(({ Context }) => Context)).toEqual(['ctx-1', undefined]);
});

describe('client tokens of CreateFleet', () => {
  let now = 0;
  const fresh = (): ClientTokens<string> => new ClientTokens({ now: () => now });

  test('a request whose answer was lost is repeated with the same parameters, until it is answered', () => {
    const tokens = fresh();
    tokens.lost('uid', 'all offerings');
    expect(tokens.next('uid')).toBe('uid');
    expect(tokens.unanswered('uid')).toBe('all offerings');

    tokens.answered('uid');

    expect(tokens.unanswered('uid')).toBeUndefined();
    expect(tokens.next('uid')).toBe('uid');
  });

  test('a token that was answered without an instance is not used again', () => {
    const tokens = fresh();
    tokens.lost('uid', 'all offerings');
    tokens.spend('uid');

    expect(tokens.unanswered('uid')).toBeUndefined();
    expect([tokens.next('uid'), tokens.next('uid-od')]).toEqual(['uid-1', 'uid-od']);
  });

  test('a token that a dead process used is given up once its instance would be visible', () => {
    const tokens = fresh();
    tokens.mismatched('uid');
    now += 59_000;
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid');

    now += 1000;
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid-1');

    // The next one may have been used as well.
    tokens.mismatched('uid');
    expect(tokens.next('uid')).toBe('uid-1');
  });
});
