import { describe, expect, test } from '@jest/globals';
import { failures } from '../../core/failures.js';
import { refusal } from '../../test/builders/aws-world.js';
import { knownErrors } from './error-table.js';
import { isDomainError } from '../../core/failures.js';

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

describe('the table of AWS errors', () => {
  test.each(launches)('%s (%s) at a launch is %s and told as %s', (code, words, type, reason) => {
    const failure = refusal(code, words, 'ec2:CreateFleet');
    expect(failure).toMatchObject({ type, details: { code, reason } });
    expect(failure.message).toContain(words);
  });

  test.each(knownErrors.map(({ code = 'InvalidParameterValue', words = '', row }) => [code, words, row] as const))(
    '%s %s is of a kind that says whether it is retried, and names the call, the code and what AWS said',
    (code, words, { type, reason }) => {
      const said = words.replaceAll('\\.', '.').split('|')[0] ?? '';
      const failure = refusal(code, said, 'ec2:CreateFleet');
      expect(failure).toMatchObject({ type, message: `ec2:CreateFleet: ${code}: ${said}` });
      expect(isDomainError(failure) ? failure.details['reason'] : 'none').toBe(reason);
      expect(Object.values(failures).map((each) => each.type)).toContain(type);
    },
  );

  test('what it does not know is told by its form, and as LaunchFailed', () => {
    expect(refusal('InvalidSubnetID.NotFound')).toMatchObject({ type: 'NotFound' });
    expect(refusal('SomethingNew', 'x', 'ec2:CreateFleet', 500)).toMatchObject({ type: 'Unavailable' });
    const failure = refusal('InvalidParameterValue', 'x');
    expect(failure).toMatchObject({ type: 'Invalid' });
    expect((failure as { details?: object }).details).not.toHaveProperty('reason');
  });
});
