/** A mistake in what the user gave: its message is all the user needs, and the exit status is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Exit statuses of the stowage command: `failed` where a cluster, Temporal or a cloud refuses or does not answer, too. */
export const exitStatus = { ok: 0, failed: 1, badInput: 2 } as const;
