import type { Node } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { WorkflowKind } from '../../core/ids.js';

/** One step of a workflow, from its history in Temporal. Times are milliseconds since the epoch. */
export type Step =
  | Started
  /** Search attributes that were set. */
  | { readonly is: 'attributes'; readonly at: number; readonly values: Readonly<Record<string, unknown>> }
  /** A signal, or an accepted update. */
  | { readonly is: 'message'; readonly at: number; readonly name: string; readonly input: unknown }
  | {
      readonly is: 'activity';
      readonly at: number;
      readonly name: string;
      readonly input: unknown;
      readonly result: unknown;
    }
  | {
      readonly is: 'ended';
      readonly at: number;
      readonly how: WorkflowEnding;
      readonly result?: unknown;
      readonly why?: string;
    };

export interface Started {
  readonly is: 'started';
  readonly at: number;
  readonly input: unknown;
  /** The summary set at start. */
  readonly summary?: string;
  readonly details?: string;
  readonly parent?: RunRef;
  /** Whether it continues an earlier run of the same workflow. */
  readonly isContinued: boolean;
}

export type WorkflowEnding = 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed out' | 'continued as new';

export interface RunRef {
  readonly workflowId: string;
  readonly runId: string;
}

/** One run of a workflow for the node. */
export interface Run extends RunRef {
  readonly kind: WorkflowKind;
  readonly steps: readonly Step[];
}

/** Everything known about one node. */
export interface NodeRecords {
  /** The requested name. */
  readonly name: string;
  readonly claimName: string;
  /** Whether Kubernetes could be read: if so, absent objects are deleted. */
  readonly isKubernetesRead: boolean;
  readonly claim?: NodeClaim;
  readonly node?: Node;
  readonly runs: readonly Run[];
  /** Pods for which the launch was planned, `namespace/name`; empty if unknown. */
  readonly pods: readonly string[];
  /** Retention of closed workflows in Temporal, milliseconds; absent if unknown. */
  readonly retentionMs?: number;
  /** What could not be read, one sentence each. */
  readonly gaps: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}
