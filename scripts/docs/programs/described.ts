import { lookUp } from '../../../core/own.js';

/** What a flag takes: the next word, or nothing. */
export type Flags = Readonly<Record<string, 'value' | 'switch'>>;

/** A program as pages call it: what is not here is either wrong, or new on a page and has to be looked up in the program's own help. */
export interface Program {
  /** With every command. */
  readonly global: Flags;
  /** By the words that name a command. */
  readonly commands: Readonly<Record<string, Flags>>;
}

export interface Invocation {
  readonly command: string;
  readonly arguments: readonly string[];
  /** In order, without an equals sign; a switch has no value. */
  readonly flags: readonly { readonly name: string; readonly value?: string | undefined }[];
  /** What stands behind `--`. */
  readonly behind: readonly string[];
}

/** The words behind the name of a program, taken apart; a text says what is wrong. */
export function invocationOf(program: Program, words: readonly string[]): Invocation | string {
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  const plain: string[] = [];
  const flags: { name: string; value?: string | undefined }[] = [];
  const known = { ...program.global, ...flagsOf(program, own) };
  for (let at = 0; at < own.length; at++) {
    const word = own[at]!;
    if (!/^--?\w/.test(word)) {
      plain.push(word);
      continue;
    }
    const [, name = '', joined] = /^([^=]+)(?:=([^]*))?$/.exec(word) ?? [];
    const takes = lookUp(known, name);
    if (takes === undefined) return `has no flag ${name}`;
    const value = takes === 'switch' ? undefined : (joined ?? own[++at]);
    if (takes === 'value' && value === undefined) return `${name} has no value`;
    flags.push({ name, value });
  }
  const command = commandIn(program, plain);
  if (command === undefined) return `has no command ${plain.slice(0, 2).join(' ')}`;
  const given = plain.slice(command.split(' ').length);
  return { command, arguments: given, flags, behind: end < 0 ? [] : words.slice(end + 1) };
}

/** The longest name of a command with which these words begin. */
function commandIn({ commands }: Program, words: readonly string[]): string | undefined {
  const names = Object.keys(commands).filter((name) => `${words.join(' ')} `.startsWith(`${name} `));
  return names.sort((left, right) => right.length - left.length)[0];
}

/** Of the command that the words name, wherever global flags stand. */
function flagsOf(program: Program, words: readonly string[]): Flags {
  const plain = words.filter(
    (word, at) => !word.startsWith('-') && lookUp(program.global, words[at - 1] ?? '') !== 'value',
  );
  return lookUp(program.commands, commandIn(program, plain) ?? '') ?? {};
}

export const valuesOf = ({ flags }: Invocation, ...names: readonly string[]): readonly string[] =>
  flags.flatMap(({ name, value }) => (names.includes(name) && value !== undefined ? [value] : []));
