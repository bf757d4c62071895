import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { failures, isDomainError } from '../../core/failures.js';
import { refusal } from '../../test/builders/aws-world.js';
import { knownErrors } from './errors.js';

/** [code, words, type, reason on the NodeClaim] */
const launches: readonly (readonly [string, string, string, string])[] = [
  ['AuthFailure.ServiceLinkedRoleCreationNotPermitted', 'no', 'Denied', 'SpotSLRCreationFailed'],
  ['UnauthorizedOperation', 'no identity-based policy allows it', 'Denied', 'Unauthorized'],
  ['UnauthorizedOperation', 'with an explicit deny in a service control policy', 'Denied', 'Unauthorized'],
  ['AccessDenied', 'no', 'Denied', 'Unauthorized'],
  ['AuthFailure', 'Not authorized for images: [ami-1]', 'Denied', 'AMIAuthorizationFailure'],
  [
    'InvalidParameter',
    'Security group sg-1 and subnet subnet-1 belong to different networks.',
    'Invalid',
    'SecurityGroupSubnetVPCMismatch',
  ],
  [
    'InvalidParameterValue',
    'Value (p) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name',
    'NotFound',
    'InstanceProfileNameInvalid',
  ],
  ['InvalidLaunchTemplateId.NotFound', 'no', 'NotFound', 'LaunchTemplateNotFound'],
  ['InvalidUserData.Malformed', 'User data is limited to 16384 bytes', 'Invalid', 'UserDataSizeLimitExceeded'],
  ['InvalidAMIID.Malformed', 'no', 'Invalid', 'InvalidAMIID'],
  ['InvalidAMIID.NotFound', 'no', 'NotFound', 'AMINotFound'],
  ['RequestLimitExceeded', 'no', 'Throttled', 'RequestLimitExceeded'],
  ['InternalError', 'no', 'Unavailable', 'InternalError'],
  [
    'InvalidParameterCombination',
    'The specified instance type is not eligible for Free Tier.',
    'Invalid',
    'FreeTierIneligible',
  ],
  ['MaxFleetCountExceeded', 'no', 'InsufficientCapacity', 'FleetQuotaExceeded'],
  ['PendingVerification', 'no', 'Denied', 'AccountPendingVerification'],
  ['MaxSpotInstanceCountExceeded', 'no', 'InsufficientCapacity', 'SpotQuotaExceeded'],
  ['VcpuLimitExceeded', 'no', 'InsufficientCapacity', 'VCPULimitExceeded'],
  ['InsufficientFreeAddressesInSubnet', 'no', 'InsufficientCapacity', 'InsufficientFreeAddressesInSubnet'],
];

const typeOf = (error: Error): string => (isDomainError(error) ? error.type : 'none');

describe('the table of AWS errors', () => {
  test.each(launches)('%s (%s) at a launch is %s and reported as %s', (code, words, type, reason) => {
    const failure = refusal(code, words, 'ec2:CreateFleet');
    expect(failure).toMatchObject({ type, details: { code, reason } });
    expect(failure.message).toContain(words);
  });

  test.each(knownErrors.map(({ code = 'InvalidParameterValue', words = '', row }) => [code, words, row] as const))(
    "%s %s has a kind that decides retries, and names the call, the code and AWS's message",
    (code, words, { type, reason }) => {
      const said = words.replaceAll('\\.', '.').split('|')[0] ?? '';
      const failure = refusal(code, said, 'ec2:CreateFleet');
      expect(failure).toMatchObject({ type, message: `ec2:CreateFleet: ${code}: ${said}` });
      expect(isDomainError(failure) ? failure.details['reason'] : 'none').toBe(reason);
      expect(Object.values(failures).map((each) => each.type)).toContain(type);
    },
  );

  const codes = new Set(knownErrors.flatMap(({ code }) => code ?? []));

  test("has every error that the SDK's clients declare for the used calls", () => {
    const calls = readFileSync('cloud/aws/calls.ts', 'utf8');
    const declared = [...calls.matchAll(/import \{([^}]*)\} from '@aws-sdk\/client-([a-z0-9]+)'/g)].flatMap(
      ([, names = '', client = '']) =>
        [...names.matchAll(/(\w+)Command\b/g)].flatMap(([, command]) => {
          const path = `node_modules/@aws-sdk/client-${client}/dist-types/commands/${command!}Command.d.ts`;
          return [...readFileSync(path, 'utf8').matchAll(/@throws \{@link (\w+)\} \((?:client|server) fault\)/g)];
        }),
    );
    const names = new Set(declared.map((match) => match[1]!));
    expect(names.size).toBeGreaterThan(40);
    expect([...names].filter((name) => !codes.has(name))).toEqual([]);
  });

  test('has every error that Karpenter knows', () => {
    const theirs =
      'InvalidLaunchTemplateName.NotFoundException InvalidParameterValue UnauthorizedOperation RequestLimitExceeded ' +
      'AuthFailure.ServiceLinkedRoleCreationNotPermitted InsufficientFreeAddressesInSubnet MaxFleetCountExceeded ' +
      'InvalidUserData.Malformed InvalidCapacityReservationId.NotFound InvalidInstanceID.NotFound ' +
      'InvalidLaunchTemplateId.NotFound QueueDoesNotExist NoSuchEntity ParameterNotFound EntityAlreadyExists ' +
      'ReservationCapacityExceeded InsufficientInstanceCapacity MaxSpotInstanceCountExceeded VcpuLimitExceeded ' +
      'UnfulfillableCapacity Unsupported';
    expect(theirs.split(' ').filter((code) => !codes.has(code))).toEqual([]);
  });

  test('gives each code one meaning, which is reported', () => {
    const all = knownErrors.flatMap(({ code }) => code ?? []);
    expect(all.filter((code, at) => all.indexOf(code) !== at)).toEqual([]);
    expect(knownErrors.filter(({ reportedAs }) => reportedAs === '')).toEqual([]);
    const retried = Object.fromEntries(
      ['KmsThrottled', 'OverLimit', 'ServiceFailureException', 'InvalidTagKey.Malformed'].map((code) => [
        code,
        typeOf(refusal(code)),
      ]),
    );
    expect(retried).toEqual({
      KmsThrottled: 'Throttled',
      OverLimit: 'Throttled',
      ServiceFailureException: 'Unavailable',
      'InvalidTagKey.Malformed': 'Invalid',
    });
  });

  test('reports an unknown code by its form, and as LaunchFailed', () => {
    expect(refusal('InvalidSomething.NotFound')).toMatchObject({ type: 'NotFound' });
    expect(refusal('SomethingNew', 'x', 'ec2:CreateFleet', 500)).toMatchObject({ type: 'Unavailable' });
    const failure = refusal('SomethingElse', 'x');
    expect(failure).toMatchObject({ type: 'Invalid' });
    expect((failure as { details?: object }).details).not.toHaveProperty('reason');
  });
});
