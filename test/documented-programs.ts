import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Program } from '../scripts/docs/programs/described.js';

const run = promisify(execFile);

/** Commands and flags of the table by which pages are checked that the program itself does not have; `options` prints what all commands take. */
export async function unknownIn(
  binary: string,
  program: Program,
  options: readonly string[],
): Promise<readonly string[]> {
  const global = await run(binary, [...options]);
  const unknown = missing(global.stdout, Object.keys(program.global));
  for (const [command, flags] of Object.entries(program.commands)) {
    const { stdout } = await run(binary, [...command.split(' '), '--help']);
    const isOfIt = stdout.includes(command.split(' ').at(-1)!);
    const names = [...(isOfIt ? [] : ['the command']), ...missing(stdout, Object.keys(flags))];
    unknown.push(...names.map((name) => `${command}: ${name}`));
  }
  return unknown;
}

const missing = (help: string, flags: readonly string[]): string[] =>
  flags.filter((flag) => !new RegExp(`(^|[\\s,])${flag}[\\s,=\\]]`, 'm').test(help));
