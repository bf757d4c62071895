import type { LineCounter, YAMLError } from 'yaml';
import { briefMessageOf } from '../../core/error-message.js';

/** Of a line so many characters are shown before the problem and after it. */
const shownBefore = 40;
const shownAfter = 40;

/** Where YAML breaks first, and why. */
export interface YamlProblem {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly why: string;
}

/** The first of the errors that the parser gives without `prettyErrors`: it would show the text of each, and there may be one for each character. */
export function firstProblem(errors: readonly YAMLError[], counter: LineCounter): YamlProblem | undefined {
  const [error] = errors;
  if (error === undefined) return undefined;
  const { line, col } = counter.linePos(error.pos[0]);
  return { line, column: col, why: briefMessageOf(error) };
}

/** The problem in words, with what stands there. */
export function problemText({ line, column, why }: YamlProblem, text: string): string {
  const whole = text.split('\n')[line - 1] ?? '';
  const from = Math.max(0, column - 1 - shownBefore);
  const shown = whole.slice(from, column - 1 + shownAfter);
  return `${why} at line ${line}, column ${column}:\n\n${shown}\n${' '.repeat(column - 1 - from)}^`;
}
