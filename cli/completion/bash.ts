import type { Described, DescribedOption } from './described.js';

/** Needs only bash. Values without a list use bash's completion of files. */
export function bashScript(commands: readonly Described[]): string {
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
