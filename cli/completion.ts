import type { Command } from 'commander';

/** A command for completion. */
export interface Described {
  readonly name: string;
  readonly description: string;
  /** The possible values of its first argument, if they are a list. */
  readonly words: readonly string[];
  readonly options: readonly DescribedOption[];
}

interface DescribedOption {
  /** `-o`, if there is one. */
  readonly short?: string;
  /** `--output` */
  readonly long: string;
  readonly description: string;
  /** Its value: one of a list, any (such as a file), or none. */
  readonly value: readonly string[] | 'any' | 'none';
}

const help: DescribedOption = { short: '-h', long: '--help', description: 'show its help', value: 'none' };

/** The data for shells; several commands with one name are combined. */
export function describeCommands(commands: ReadonlyMap<string, readonly Command[]>): readonly Described[] {
  return [...commands].map(([name, variants]) => {
    const options = new Map<string, DescribedOption>();
    for (const option of variants.flatMap(optionsOf)) if (!options.has(option.long)) options.set(option.long, option);
    const [first] = variants;
    return {
      name,
      description: first?.description() ?? '',
      words: first?.registeredArguments[0]?.argChoices ?? [],
      options: [...options.values(), help],
    };
  });
}

function optionsOf({ options }: Command): readonly DescribedOption[] {
  return options.flatMap(({ short, long, description, argChoices, required, optional }) => {
    if (long === undefined) return [];
    const value = argChoices ?? (required || optional ? 'any' : 'none');
    return [{ ...(short ? { short } : {}), long, description, value }];
  });
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

type Shell = keyof typeof scripts;

/** `stowage completion SHELL`: the script for a shell. */
export const completionScript = (shell: Shell, commands: readonly Described[]): string => scripts[shell](commands);

/** Needs only bash. Values without a list use bash's completion of files. */
function bashScript(commands: readonly Described[]): string {
  return `# bash completion of stowage: source <(stowage completion bash)
_stowage() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(' ')} help"
  else
    case "\${COMP_WORDS[1]} $previous" in
${commands.flatMap(valueCases).join('\n')}
    esac
    if [ -z "$words" ]; then
      case "\${COMP_WORDS[1]}" in
${commands.map(optionCase).join('\n')}
      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _stowage stowage
`;
}

function valueCases({ name, options }: Described): readonly string[] {
  return options.flatMap((option) => {
    const pattern = flagsOf(option)
      .map((flag) => `'${name} ${flag}'`)
      .join(' | ');
    if (option.value === 'none') return [];
    if (option.value === 'any') return [`      ${pattern}) return ;;`];
    return [`      ${pattern}) words="${option.value.join(' ')}" ;;`];
  });
}

const optionCase = ({ name, words, options }: Described): string =>
  `        ${name}) words="${[...words, ...options.flatMap(flagsOf)].join(' ')}" ;;`;

const flagsOf = ({ short, long }: DescribedOption): readonly string[] => [
  ...(short === undefined ? [] : [short]),
  long,
];

/** For ~/.config/fish/completions/stowage.fish. */
function fishScript(commands: readonly Described[]): string {
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

/** For a file `_stowage` in $fpath, or sourced after compinit. */
function zshScript(commands: readonly Described[]): string {
  return `#compdef stowage
# zsh completion of stowage: source <(stowage completion zsh)
_stowage() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    ${zshQuoted(`${name}:${description}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case "\${words[1]}" in
${commands.map(commandCase).join('\n')}
  esac
}
if [ "\${funcstack[1]}" = _stowage ]; then
  _stowage "$@"
else
  compdef _stowage stowage
fi
`;
}

function commandCase({ name, words, options }: Described): string {
  const first = words.length === 0 ? [] : [zshQuoted(`1:what:(${words.join(' ')})`)];
  const specs = [...options.flatMap(specsOf), ...first, zshQuoted('*:file:_files')];
  return `    ${name})\n      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(' \\\n')}\n      ;;`;
}

/** A spec of _arguments for each form of an option; they exclude each other. */
function specsOf({ short, long, description, value }: DescribedOption): readonly string[] {
  const flags = short === undefined ? [long] : [short, long];
  const action = value === 'none' ? '' : value === 'any' ? ':value:_files' : `:value:(${value.join(' ')})`;
  return flags.map((flag) => zshQuoted(`(${flags.join(' ')})${flag}[${inBrackets(description)}]${action}`));
}

const inBrackets = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');
const zshQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
