import type { ObservedQueue } from '../../operator/stuck/observed.js';

/** Access to Temporal for checks. All methods reject if it does not respond. */
export interface EngineReader {
  /** Such as `1.29.1`. */
  serverVersion(): Promise<string>;
  /** Undefined if the namespace does not exist. */
  namespace(): Promise<{ readonly isOpen: boolean; readonly retentionMs: number } | undefined>;
  searchAttributes(): Promise<{
    readonly missing: readonly string[];
    readonly mistyped: readonly { readonly name: string; readonly wanted: string; readonly found: string }[];
  }>;
  queues(): Promise<readonly ObservedQueue[]>;
  /** UID of the `kube-system` recorded for the cluster's name; undefined while none is recorded. */
  recordedUid(): Promise<string | undefined>;
}
