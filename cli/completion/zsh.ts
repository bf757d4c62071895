import type { Described, DescribedOption } from './described.js';

/** For a file `_stowage` in $fpath, or sourced after compinit. */
export function zshScript(commands: readonly Described[]): string {
  return `#compdef stowage
# zsh completion of stowage: source <(stowage completion zsh)
_stowage() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`).join('\n')}
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
  const first = words.length === 0 ? [] : [quoted(`1:what:(${words.join(' ')})`)];
  const specs = [...options.flatMap(specsOf), ...first, quoted('*:file:_files')];
  return `    ${name})\n      _arguments \\\n${specs.map((spec) => `        ${spec}`).join(' \\\n')}\n      ;;`;
}

/** A spec of _arguments for each form of an option; they exclude each other. */
function specsOf({ short, long, description, value }: DescribedOption): readonly string[] {
  const flags = short === undefined ? [long] : [short, long];
  const action = value === 'none' ? '' : value === 'any' ? ':value:_files' : `:value:(${value.join(' ')})`;
  return flags.map((flag) => quoted(`(${flags.join(' ')})${flag}[${inBrackets(description)}]${action}`));
}

const inBrackets = (text: string): string => text.replace(/[[\]:\\]/g, '\\$&');
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
