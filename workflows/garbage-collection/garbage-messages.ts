/* Messages of `collectGarbage`. workflows/messages.ts exports them. */

export interface CollectGarbageInput {
  readonly cluster: string;
}

export interface CollectGarbageResult {
  readonly instances: readonly string[];
  readonly claims: readonly string[];
  /** Nodes whose finalizer was removed, because their NodeClaim is gone. */
  readonly nodes: readonly string[];
  /** What could not be collected, and why: the next collection tries again. */
  readonly failed: readonly { readonly object: string; readonly error: string }[];
}
