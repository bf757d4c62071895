import type { Described, DescribedOption } from './described.js';

/** For ~/.config/fish/completions/stowage.fish. */
export function fishScript(commands: readonly Described[]): string {
  return [
    '# fish completion of stowage: stowage completion fish | source',
    ...commands.map(
      ({ name, description }) => `complete -c stowage -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ),
    ...commands.flatMap(commandLines),
    '',
  ].join('\n');
}

function commandLines({ name, words, options }: Described): readonly string[] {
  const of = `complete -c stowage -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  const first = words.length === 0 ? [] : [`${of} -f -a ${quoted(words.join(' '))}`];
  return [...first, ...options.map((option) => `${of} ${optionText(option)}`)];
}

function optionText({ short, long, description, value }: DescribedOption): string {
  const flags = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`;
  const follows = value === 'none' ? '' : value === 'any' ? ' -r' : ` -x -a ${quoted(value.join(' '))}`;
  return `${flags}${follows} -d ${quoted(description)}`;
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
