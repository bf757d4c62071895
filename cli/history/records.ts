import type { Node } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { WorkflowKind } from '../../core/ids.js';
import { lookUp } from '../../core/own.js';
import { searchAttributes } from '../../workflows/messages.js';

/**
 * The fields of a payload: histories of other versions may lack any of them, and a manually sent signal may contain
 * anything.
 */
export function fieldsOf<T>(payload: unknown): Partial<T> {
  return typeof payload === 'object' && payload !== null ? payload : {};
}

/** The value that a step sets for this search attribute; undefined if it does not. */
export function attributeOf(step: Step, key: keyof typeof searchAttributes): unknown {
  return step.is === 'attributes' ? lookUp(step.values, searchAttributes[key].name) : undefined;
}

/** The phase that a step enters. */
export function phaseOf(step: Step): string | undefined {
  const phase = attributeOf(step, 'phase');
  return typeof phase === 'string' ? phase : undefined;
}

/** Input and result of an activity with this name. */
export function callOf<I, R>(step: Step, name: string): { input: Partial<I>; result: Partial<R> } | undefined {
  if (step.is !== 'activity' || step.name !== name) return undefined;
  return { input: fieldsOf<I>(step.input), result: fieldsOf<R>(step.result) };
}

/** The result of a run that completed. */
export function resultOf<T>(step: Step): Partial<T> | undefined {
  return step.is === 'ended' && step.how === 'completed' ? fieldsOf<T>(step.result) : undefined;
}

/** A string, or a default if it is missing. */
export const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

/** `ann (release)`. */
export function byText(actor: unknown, reason: unknown): string {
  const who = textOr(actor, 'an unknown actor');
  return typeof reason === 'string' && reason !== '' ? `${who} (${reason})` : who;
}

/** Taints of disruptions, which keep new pods away. */
export function taintText(step: Step): string | undefined {
  if (callOf(step, 'taintCandidates') !== undefined) return 'tainted: no new pods';
  return callOf(step, 'untaintCandidates') === undefined ? undefined : 'taint taken off';
}

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

/** The data of the node for texts. */
export interface About {
  readonly claimName: string;
  readonly pods: readonly string[];
}

/** Describes a step as text; undefined if it has no new information. Keeps state per workflow. */
export type Describer = (step: Step) => string | undefined;
