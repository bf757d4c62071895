/** An error in the user's input: its message suffices, and the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Exit statuses of the stowage command; `failed` also if a cluster, Temporal or a cloud refuses or does not respond,
 * `changes` if a forecast finds any.
 */
export const exitStatus = { ok: 0, failed: 1, badInput: 2, changes: 3 } as const;
