import { DomainError, isDomainError, type FailureType } from '../../core/failures.js';

/** Meaning of an AWS error code; its type decides whether it is retried (core/failures.ts). */
interface ErrorRow {
  readonly type: FailureType;
  /** Where it occurs; absent: anywhere. */
  readonly met?: keyof typeof reportedBy;
  /**
   * Reason of the condition `Launched` and of the event on a NodeClaim if a launch fails with this error, named as in
   * Karpenter. Absent: `LaunchFailed`.
   */
  readonly reason?: string;
  /** Whether the caller is refused, at any call: expired credentials, a wrong signature, a wrong clock. */
  readonly ofCaller?: true;
}

/** Where an error is reported, by where it occurs. The log has all of them. */
const reportedBy = {
  launch: 'NodeClaim: condition `Launched`, event',
  nodeClass: 'EC2NodeClass: its condition',
  queue: '`stowage doctor`',
  prices: 'the log: the last known prices stay',
  instance: '`stowage doctor`, metric `stowage_stuck`',
  anywhere: 'where it occurs',
} as const;

type Rows = readonly (readonly [row: ErrorRow, ...codes: readonly string[]])[];

/**
 * Permissions, accounts and credentials: retried, since a missing permission may be granted and credentials renewed.
 */
const denied: Rows = [
  [
    { type: 'Denied', reason: 'Unauthorized' },
    'AccessDenied',
    'AccessDeniedException',
    'AuthFailure',
    'Blocked',
    'OptInRequired',
    'UnauthorizedOperation',
  ],
  [
    { type: 'Denied', met: 'launch', reason: 'SpotSLRCreationFailed' },
    'AuthFailure.ServiceLinkedRoleCreationNotPermitted',
  ],
  [{ type: 'Denied', met: 'launch', reason: 'AccountPendingVerification' }, 'PendingVerification'],
  [
    { type: 'Denied', reason: 'Unauthorized', ofCaller: true },
    'CredentialsProviderError',
    'ExpiredToken',
    'ExpiredTokenException',
    'IDPRejectedClaim',
    'IDPRejectedClaimException',
    'IncompleteSignature',
    'InvalidAccessKeyId',
    'InvalidClientTokenId',
    'InvalidIdentityToken',
    'InvalidIdentityTokenException',
    'InvalidSignatureException',
    'MissingAuthenticationToken',
    'RegionDisabledException',
    'RequestExpired',
    'RequestInTheFuture',
    'RequestTimeTooSkewed',
    'SignatureDoesNotMatch',
    'UnrecognizedClientException',
  ],
  [{ type: 'Denied', met: 'launch' }, 'InvalidKMSKey.InvalidState'],
  // A service-linked profile, and details that an EKS cluster does not show without permission.
  [{ type: 'Denied', met: 'nodeClass' }, 'ClientException', 'UnmodifiableEntity', 'UnmodifiableEntityException'],
  [
    { type: 'Denied', met: 'queue' },
    'InvalidSecurity',
    'KmsAccessDenied',
    'KmsDisabled',
    'KmsInvalidKeyUsage',
    'KmsInvalidState',
    'KmsOptInRequired',
  ],
  [{ type: 'Denied', met: 'nodeClass' }, 'InvalidKeyId'],
];

/** Throttling: retried within the budget, which shrinks. */
const throttled: Rows = [
  [
    { type: 'Throttled', reason: 'RequestLimitExceeded' },
    'BandwidthLimitExceeded',
    'EC2ThrottledException',
    'PriorRequestNotComplete',
    'ProvisionedThroughputExceededException',
    'RequestLimitExceeded',
    'RequestThrottled',
    'RequestThrottledException',
    'SlowDown',
    'Throttling',
    'ThrottlingException',
    'TooManyRequestsException',
  ],
  [{ type: 'Throttled', met: 'queue' }, 'KmsThrottled', 'OverLimit'],
];

/** No capacity: the offering is unavailable for a while, and its pods are planned again. */
const noCapacity: Rows = [
  [
    { type: 'InsufficientCapacity', met: 'launch', reason: 'InsufficientCapacityError' },
    'InsufficientCapacity',
    'InsufficientHostCapacity',
    'InsufficientInstanceCapacity',
    'InsufficientReservedInstanceCapacity',
    'ReservationCapacityExceeded',
    'UnfulfillableCapacity',
    'Unsupported',
  ],
  [{ type: 'InsufficientCapacity', met: 'launch', reason: 'FleetQuotaExceeded' }, 'MaxFleetCountExceeded'],
  [{ type: 'InsufficientCapacity', met: 'launch', reason: 'SpotQuotaExceeded' }, 'MaxSpotInstanceCountExceeded'],
  [
    { type: 'InsufficientCapacity', met: 'launch', reason: 'VCPULimitExceeded' },
    'InstanceLimitExceeded',
    'VcpuLimitExceeded',
  ],
  [
    { type: 'InsufficientCapacity', met: 'launch', reason: 'InsufficientFreeAddressesInSubnet' },
    'InsufficientFreeAddressesInSubnet',
  ],
];

/** A conflict with another actor, or a quota, that may be gone at the next attempt. */
const conflicts: Rows = [
  [
    { type: 'Conflict', met: 'nodeClass' },
    'ConcurrentModification',
    'ConcurrentModificationException',
    'DeleteConflict',
    'DeleteConflictException',
    'EntityAlreadyExists',
    'EntityAlreadyExistsException',
    'EntityTemporarilyUnmodifiable',
    'EntityTemporarilyUnmodifiableException',
    'LimitExceeded',
    'LimitExceededException',
  ],
  [
    { type: 'Conflict', met: 'launch' },
    'InvalidLaunchTemplateName.AlreadyExistsException',
    'MaxIOPSLimitExceeded',
    'NetworkInterfaceLimitExceeded',
    'ResourceLimitExceeded',
    'VolumeLimitExceeded',
  ],
  // Termination or stop protection, which a user may remove.
  [{ type: 'Conflict', met: 'instance' }, 'OperationNotPermitted'],
];

/** Named objects that do not exist. */
const absent: Rows = [
  [{ type: 'NotFound', met: 'launch', reason: 'AMINotFound' }, 'InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable'],
  [
    { type: 'NotFound', met: 'launch', reason: 'LaunchTemplateNotFound' },
    'InvalidLaunchTemplateId.NotFound',
    'InvalidLaunchTemplateName.NotFoundException',
  ],
  [
    { type: 'NotFound', met: 'launch' },
    'InvalidCapacityReservationId.NotFound',
    'InvalidGroup.NotFound',
    'InvalidKeyPair.NotFound',
    'InvalidLaunchTemplateId.VersionNotFound',
    'InvalidPlacementGroup.Unknown',
    'InvalidSecurityGroupID.NotFound',
    'InvalidSnapshot.NotFound',
    'InvalidSubnetID.NotFound',
  ],
  [{ type: 'NotFound', met: 'instance' }, 'InvalidInstanceID.NotFound'],
  [
    { type: 'NotFound', met: 'nodeClass' },
    'NoSuchEntity',
    'NoSuchEntityException',
    'ParameterNotFound',
    'ParameterVersionNotFound',
    'ResourceNotFoundException',
  ],
  [{ type: 'NotFound', met: 'prices' }, 'NotFoundException'],
  [
    { type: 'NotFound', met: 'queue' },
    'AWS.SimpleQueueService.NonExistentQueue',
    'InvalidAddress',
    'KmsNotFound',
    'QueueDoesNotExist',
  ],
];

/** Errors that repeat with the same request: not retried unchanged. */
const invalid: Rows = [
  [{ type: 'Invalid', met: 'launch', reason: 'InvalidAMIID' }, 'InvalidAMIID.Malformed'],
  [
    { type: 'Invalid', met: 'launch' },
    'EncryptedVolumesNotSupported',
    'IdempotentParameterMismatch',
    'InvalidBlockDeviceMapping',
    'InvalidFleetConfiguration',
    'InvalidFleetConfig',
    'InvalidInstanceType',
    'InvalidLaunchTemplateId.Malformed',
    'InvalidLaunchTemplateName.MalformedException',
    'InvalidTagKey.Malformed',
    'InvalidUserData.Malformed',
    'SpotMaxPriceTooLow',
    'TagLimitExceeded',
  ],
  [{ type: 'Invalid', met: 'instance' }, 'IncorrectInstanceState', 'IncorrectState', 'InvalidInstanceID.Malformed'],
  [
    { type: 'Invalid', met: 'nodeClass' },
    'FilterLimitExceeded',
    'InvalidFilter',
    'InvalidGroupId.Malformed',
    'InvalidInput',
    'InvalidInputException',
    'InvalidSubnetID.Malformed',
    'ValidationError',
    'ValidationException',
  ],
  [
    { type: 'Invalid', met: 'prices' },
    'ExpiredNextTokenException',
    'InvalidNextTokenException',
    'InvalidParameterException',
  ],
  [
    { type: 'Invalid', met: 'queue' },
    'BatchEntryIdsNotDistinct',
    'EmptyBatchRequest',
    'InvalidAttributeName',
    'InvalidBatchEntryId',
    'ReceiptHandleIsInvalid',
    'TooManyEntriesInBatchRequest',
    'UnsupportedOperation',
  ],
  [
    { type: 'Invalid' },
    'InvalidAction',
    'InvalidNextToken',
    'InvalidPaginationToken',
    'InvalidParameter',
    'InvalidParameterCombination',
    'InvalidParameterValue',
    'MissingParameter',
    'UnknownParameter',
  ],
];

/** AWS or the connection to it is unavailable. */
const unavailable: Rows = [
  [
    { type: 'Unavailable', reason: 'InternalError' },
    'InternalError',
    'InternalErrorException',
    'InternalFailure',
    'InternalServerError',
    'ServerException',
    'ServiceFailure',
    'ServiceFailureException',
    'ServiceUnavailable',
    'ServiceUnavailableException',
    'Unavailable',
  ],
  [
    { type: 'Unavailable' },
    'EAI_AGAIN',
    'ECONNREFUSED',
    'ECONNRESET',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOTFOUND',
    'EPIPE',
    'ETIMEDOUT',
    'IDPCommunicationError',
    'IDPCommunicationErrorException',
    'RequestTimeout',
    'RequestTimeoutException',
    'TimeoutError',
  ],
];

/** Every error code that the provider can receive. The type of other codes follows from their form (`errors.ts`). */
const errorsByCode: Rows = [
  ...denied,
  ...throttled,
  ...noCapacity,
  ...conflicts,
  ...absent,
  ...invalid,
  ...unavailable,
];

interface ServiceError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  /** `clockSkewCorrected`: the SDK corrected its clock offset by the response. */
  readonly $metadata?: { readonly httpStatusCode?: number; readonly clockSkewCorrected?: boolean };
}

/** Whether the code means throttling. */
export function isThrottle(code: string): boolean {
  return errorRow(code, '')?.type === 'Throttled';
}

/** The AWS error code, such as `RequestLimitExceeded`; empty if there is none. */
export function awsCode(error: unknown): string {
  if (isDomainError(error)) return typeof error.details.code === 'string' ? error.details.code : '';
  const { name, code } = (error ?? {}) as ServiceError;
  return name !== undefined && name !== 'Error' ? name : (code ?? '');
}

/** Whether EC2 says that a dry run would have succeeded. */
export function isDryRunSuccess(error: unknown): boolean {
  return awsCode(error) === 'DryRunOperation';
}

/**
 * Whether EC2 does not know the instance profile. This is also the response to all callers for some seconds after a
 * profile was created.
 */
export function isProfileUnknown(error: unknown): boolean {
  const { message = '' } = (error ?? {}) as ServiceError;
  return errorRow('', message)?.reason === 'InstanceProfileNameInvalid';
}

/** Whether the caller was refused, not this call or its arguments; the next call may have other credentials. */
export function isOfCaller(error: unknown): boolean {
  return errorRow(awsCode(error), '')?.ofCaller === true;
}

/** Whether the call was refused for its timestamp, which the SDK has corrected now. */
export function isClockCorrected(error: unknown): boolean {
  return isDomainError(error) && error.details['clockSkewCorrected'] === true;
}

/**
 * Converts a failed AWS call to a domain error that names the call. `details.code` is the AWS code, `details.reason`
 * the reason reported on the NodeClaim if a launch failed with it.
 */
export function toDomainError(error: unknown, action: string): DomainError {
  if (isDomainError(error)) return error;
  const code = awsCode(error);
  const { message, $metadata } = (error ?? {}) as ServiceError;
  const text = message ?? String(error);
  const row: ErrorRow = errorRow(code, text) ?? { type: typeByForm(code, $metadata?.httpStatusCode) };
  return new DomainError(row.type, `${action}: ${code === '' ? text : `${code}: ${text}`}`, {
    action,
    code,
    ...(row.reason === undefined ? {} : { reason: row.reason }),
    ...($metadata?.clockSkewCorrected === true ? { clockSkewCorrected: true } : {}),
  });
}

function typeByForm(code: string, status: number | undefined): FailureType {
  if (status === 429) return 'Throttled';
  if (code.includes('NotFound') || code.startsWith('NoSuchEntity') || code.includes('NonExistent')) return 'NotFound';
  // No HTTP status: there was no response, or one that is not from AWS (such as a proxy's error page).
  return status === undefined || status >= 500 ? 'Unavailable' : 'Invalid';
}

/** Errors that only their message distinguishes; they take precedence over the row of the code. */
const byWords: readonly (readonly [words: RegExp, row: ErrorRow])[] = [
  [/not authorized for images/i, { type: 'Denied', met: 'launch', reason: 'AMIAuthorizationFailure' }],
  [/belong to different networks/i, { type: 'Invalid', met: 'launch', reason: 'SecurityGroupSubnetVPCMismatch' }],
  [
    /invalid IAM instance profile name|iamInstanceProfile\.name is invalid/i,
    { type: 'NotFound', met: 'launch', reason: 'InstanceProfileNameInvalid' },
  ],
  [/user data is limited to/i, { type: 'Invalid', met: 'launch', reason: 'UserDataSizeLimitExceeded' }],
  [/not eligible for free tier/i, { type: 'Invalid', met: 'launch', reason: 'FreeTierIneligible' }],
];

const rows: ReadonlyMap<string, ErrorRow> = new Map(
  errorsByCode.flatMap(([row, ...codes]) => codes.map((code) => [code, row] as const)),
);

/**
 * The table, for its tests: codes, then the errors that only their message distinguishes.
 *
 * @testOnly
 */
export const knownErrors: readonly {
  readonly code?: string;
  readonly words?: string;
  readonly row: ErrorRow;
  readonly reportedAs: string;
}[] = [
  ...[...rows].map(([code, row]) => ({ code, row, reportedAs: reportOf(row) })),
  ...byWords.map(([words, row]) => ({ words: words.source, row, reportedAs: reportOf(row) })),
];

function reportOf({ met = 'anywhere' }: ErrorRow): string {
  return reportedBy[met];
}

/** Meaning of an error with this code and message; undefined if the table does not have it. */
export function errorRow(code: string, message: string): ErrorRow | undefined {
  return byWords.find(([words]) => words.test(message))?.[1] ?? rows.get(code);
}
