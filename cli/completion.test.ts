import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { completionScript, describeCommands, type Described } from './completion.js';
import { describedCommands } from './program.js';

let described: readonly Described[];

beforeAll(async () => {
  described = describeCommands(await describedCommands());
});

describe.each(['bash', 'zsh', 'fish'] as const)('the completion script of %s', (shell) => {
  test('has every command and every option', () => {
    const script = completionScript(shell, described);
    for (const { name, options } of described) {
      const lines = linesOf(shell, script, name);
      expect(lines).not.toBe('');
      const missing = options.filter(({ long }) => !lines.includes(shell === 'fish' ? `-l ${long.slice(2)} ` : long));
      expect([name, missing.map(({ long }) => long)]).toEqual([name, []]);
    }
  });
});

/** What a script says of one command. */
function linesOf(shell: 'bash' | 'zsh' | 'fish', script: string, name: string): string {
  if (shell === 'fish') {
    const own = `'__fish_seen_subcommand_from ${name}'`;
    return script.includes(` -a ${name} -d `)
      ? script
          .split('\n')
          .filter((line) => line.includes(own))
          .join('\n')
      : '';
  }
  const end = shell === 'bash' ? ';;' : '\n      ;;';
  const [, after = ''] = script.split(new RegExp(`\n +${name}\\)`));
  return after.split(end)[0]!;
}

describe('bash completion', () => {
  const complete = (...words: string[]): readonly string[] => {
    const script = `${completionScript('bash', described)}
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stowage; echo "\${COMPREPLY[*]}"`;
    const out = execFileSync('bash', ['-s', '--', 'stowage', ...words], { input: script, encoding: 'utf8' });
    return out.split(/\s+/).filter((word) => word !== '');
  };

  test('bash loads the script', () => {
    const input = completionScript('bash', described);
    expect(execFileSync('bash', ['-n'], { input, encoding: 'utf8' })).toBe('');
  });

  test.each<[readonly string[], readonly string[]]>([
    [['reco'], ['reconsider']],
    [['history', 'n'], ['node']],
    [['status', '--out'], ['--output']],
    [
      ['status', '-o', ''],
      ['table', 'json', 'html'],
    ],
    [['pause', '--reason', 'Dr'], ['Drifted']],
    [['plan', '--objects', ''], []],
    [['completion', 'z'], ['zsh']],
  ])('%j completes to %j', (words, expected) => {
    expect(complete(...words)).toEqual(expected);
  });
});
