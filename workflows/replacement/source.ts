import type { ClaimRef } from '../messages.js';

/** Whether the replacements are initialized, or why not. */
export type Readiness =
  | { readonly state: 'ready' }
  | { readonly state: 'interrupted' }
  | { readonly state: 'failed' | 'late'; readonly why: string };

/**
 * How replacements are launched: planned by `provision` (ViaProvision), or exactly as a command decided (ExactClaims).
 */
export interface ReplacementSource {
  /** NodeClaims launched so far. */
  readonly claims: readonly ClaimRef[];
  /** Starts the launches; returns why not all can be launched, if that is known at once. */
  launch(of: {
    readonly nodes: readonly string[];
    readonly reason: string;
    /** For how long the room for the pods stays reserved, milliseconds. */
    readonly reserveMs: number;
  }): Promise<string | undefined>;
  /**
   * `ready` once every replacement is initialized, `failed` once one failed, `late` after `ms`, `interrupted` once
   * `interrupt` holds.
   */
  awaitReady(ms: number, interrupt: () => boolean): Promise<Readiness>;
  /** Revokes the removal of the nodes: `provision` plans with them again. Launched nodes stay. Idempotent. */
  release(): Promise<void>;
}
