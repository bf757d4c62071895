import { lookUp } from '../../core/own.js';
import { searchAttributes } from '../../workflows/messages.js';
import type { Step } from './records.js';

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
