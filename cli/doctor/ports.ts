import type { ObservedQueue } from '../../operator/stuck/observed.js';

/** What checks ask of Temporal. Everything rejects where it does not answer. */
export interface EngineReader {
  /** Such as `1.29.1`. */
  serverVersion(): Promise<string>;
  /** Undefined where there is no such namespace. */
  namespace(): Promise<{ readonly isOpen: boolean; readonly retentionMs: number } | undefined>;
  searchAttributes(): Promise<{
    readonly missing: readonly string[];
    readonly mistyped: readonly { readonly name: string; readonly wanted: string; readonly found: string }[];
  }>;
  queues(): Promise<readonly ObservedQueue[]>;
  /** UID of the `kube-system` that the cluster's name stands for; undefined while nobody has recorded one. */
  recordedUid(): Promise<string | undefined>;
}
