import type { Node } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { WorkflowKind } from '../../core/ids.js';

/** One step of a workflow, as its history in Temporal has it. Times are milliseconds of the epoch. */
export type Step =
  | Started
  /** Search attributes that were written. */
  | { readonly is: 'attributes'; readonly at: number; readonly values: Readonly<Record<string, unknown>> }
  /** A signal, or an update that was accepted. */
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
  /** What whoever started it wrote for people. */
  readonly summary?: string;
  readonly details?: string;
  readonly parent?: RunRef;
  /** Whether it goes on from an earlier run of the same workflow. */
  readonly isContinued: boolean;
}

export type WorkflowEnding = 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed out' | 'continued as new';

export interface RunRef {
  readonly workflowId: string;
  readonly runId: string;
}

/** One run of a workflow that is about the node. */
export interface Run extends RunRef {
  readonly kind: WorkflowKind;
  readonly steps: readonly Step[];
}

/** All that is known of one node. */
export interface NodeRecords {
  /** What was asked for. */
  readonly name: string;
  readonly claimName: string;
  /** Whether Kubernetes could be read: what is absent then is gone. */
  readonly isKubernetesRead: boolean;
  readonly claim?: NodeClaim;
  readonly node?: Node;
  readonly runs: readonly Run[];
  /** Pods that the launch was planned for, `namespace/name`; empty when that is not known. */
  readonly pods: readonly string[];
  /** How long Temporal keeps a workflow that has ended, milliseconds; absent when it does not say. */
  readonly retentionMs?: number;
  /** What could not be read, a sentence each. */
  readonly gaps: readonly string[];
  /** Milliseconds of the epoch. */
  readonly now: number;
}
