import type { FailureType } from '../../core/failures.js';

/** What an AWS error means; whether it is retried follows from its type (core/failures.ts). */
export interface ErrorRow {
  readonly type: FailureType;
  /**
   * What the owner of a NodeClaim is told when a launch meets it: reason of the condition `Launched` and of the event, as
   * Karpenter names it. Absent: `LaunchFailed`.
   */
  readonly reason?: string;
}

type Rows = readonly (readonly [row: ErrorRow, ...codes: readonly string[]])[];

/** Every error code that the provider treats otherwise than by its form (`errors.ts` has the rest). */
const byCode: Rows = [
  // Permissions and accounts: retried, since somebody may grant what lacks.
  [
    { type: 'Denied', reason: 'Unauthorized' },
    'AccessDenied',
    'AccessDeniedException',
    'AuthFailure',
    'Blocked',
    'OptInRequired',
    'UnauthorizedOperation',
  ],
  [{ type: 'Denied', reason: 'SpotSLRCreationFailed' }, 'AuthFailure.ServiceLinkedRoleCreationNotPermitted'],
  [{ type: 'Denied', reason: 'AccountPendingVerification' }, 'PendingVerification'],
  // Credentials: renewed by whoever gives them.
  [
    { type: 'Denied', reason: 'Unauthorized' },
    'CredentialsProviderError',
    'ExpiredToken',
    'ExpiredTokenException',
    'InvalidAccessKeyId',
    'InvalidClientTokenId',
    'RequestExpired',
    'SignatureDoesNotMatch',
    'UnrecognizedClientException',
  ],
  // Too many requests: retried under the budget, which shrinks.
  [
    { type: 'Throttled', reason: 'RequestLimitExceeded' },
    'BandwidthLimitExceeded',
    'EC2ThrottledException',
    'PriorRequestNotComplete',
    'RequestLimitExceeded',
    'RequestThrottled',
    'RequestThrottledException',
    'SlowDown',
    'Throttling',
    'ThrottlingException',
    'TooManyRequestsException',
  ],
  // No capacity: the offering is left alone for a while, and pods are planned anew.
  [
    { type: 'InsufficientCapacity', reason: 'InsufficientCapacityError' },
    'InsufficientInstanceCapacity',
    'ReservationCapacityExceeded',
    'UnfulfillableCapacity',
    'Unsupported',
  ],
  [{ type: 'InsufficientCapacity', reason: 'FleetQuotaExceeded' }, 'MaxFleetCountExceeded'],
  [{ type: 'InsufficientCapacity', reason: 'SpotQuotaExceeded' }, 'MaxSpotInstanceCountExceeded'],
  [{ type: 'InsufficientCapacity', reason: 'VCPULimitExceeded' }, 'VcpuLimitExceeded'],
  [{ type: 'InsufficientCapacity', reason: 'InsufficientFreeAddressesInSubnet' }, 'InsufficientFreeAddressesInSubnet'],
  // Somebody else's doing that may be over at the next attempt.
  [
    { type: 'Conflict' },
    'ConcurrentModification',
    'ConcurrentModificationException',
    'DeleteConflict',
    'DeleteConflictException',
    'EntityAlreadyExists',
    'EntityAlreadyExistsException',
    'InvalidLaunchTemplateName.AlreadyExistsException',
    'LimitExceeded',
    'LimitExceededException',
    // Termination or stop protection: somebody may take it off.
    'OperationNotPermitted',
  ],
  // What is named and not there.
  [{ type: 'NotFound', reason: 'AMINotFound' }, 'InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable'],
  [
    { type: 'NotFound', reason: 'LaunchTemplateNotFound' },
    'InvalidLaunchTemplateId.NotFound',
    'InvalidLaunchTemplateName.NotFoundException',
  ],
  [{ type: 'NotFound' }, 'ParameterNotFound', 'QueueDoesNotExist', 'AWS.SimpleQueueService.NonExistentQueue'],
  [{ type: 'Invalid', reason: 'InvalidAMIID' }, 'InvalidAMIID.Malformed'],
  [
    { type: 'Unavailable', reason: 'InternalError' },
    'InternalError',
    'InternalFailure',
    'ServiceUnavailable',
    'Unavailable',
  ],
];

/** Errors that AWS tells apart by words alone; they win over the code's row. */
const byWords: readonly (readonly [words: RegExp, row: ErrorRow])[] = [
  [/not authorized for images/i, { type: 'Denied', reason: 'AMIAuthorizationFailure' }],
  [/belong to different networks/i, { type: 'Invalid', reason: 'SecurityGroupSubnetVPCMismatch' }],
  [
    /invalid IAM instance profile name|iamInstanceProfile\.name is invalid/i,
    { type: 'NotFound', reason: 'InstanceProfileNameInvalid' },
  ],
  [/user data is limited to/i, { type: 'Invalid', reason: 'UserDataSizeLimitExceeded' }],
  [/not eligible for free tier/i, { type: 'Invalid', reason: 'FreeTierIneligible' }],
];

const rows: ReadonlyMap<string, ErrorRow> = new Map(
  byCode.flatMap(([row, ...codes]) => codes.map((code) => [code, row] as const)),
);

/** The table for its tests and for documents: codes, then what is told apart by words. */
export const knownErrors: readonly { readonly code?: string; readonly words?: string; readonly row: ErrorRow }[] = [
  ...[...rows].map(([code, row]) => ({ code, row })),
  ...byWords.map(([words, row]) => ({ words: words.source, row })),
];

/** What an error of this code and these words means; undefined where the table does not know it. */
export function errorRow(code: string, message: string): ErrorRow | undefined {
  return byWords.find(([words]) => words.test(message))?.[1] ?? rows.get(code);
}
