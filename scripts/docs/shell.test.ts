import { expect, test } from 'vitest';
import { commandsOf } from './shell.js';

const wordsOf = (script: string): readonly (readonly string[])[] => commandsOf(script).map(({ words }) => words);

test.each<[string, string, readonly (readonly string[])[]]>([
  [
    'one a line',
    'kubectl get pods\n\nhelm list\n',
    [
      ['kubectl', 'get', 'pods'],
      ['helm', 'list'],
    ],
  ],
  ['a line that goes on', 'helm install a \\\n  --set b=c', [['helm', 'install', 'a', '--set', 'b=c']]],
  [
    'comments',
    '# of a line\nls -l   # and behind one\necho a#b',
    [
      ['ls', '-l'],
      ['echo', 'a#b'],
    ],
  ],
  ['quotes', `echo 'a "b"' "c 'd'" e\\ f "g\\"h" x'y'"z"`, [['echo', 'a "b"', `c 'd'`, 'e f', 'g"h', 'xyz']]],
  ['several in a line', 'a && b || c; d | e &', [['a'], ['b'], ['c'], ['d'], ['e']]],
  ['variables', 'A=1 B="2 3" run "$A" ${B}', [['run', '$A', '${B}']]],
  [
    'what runs for its output',
    'export A="$(aws x "$B" | sed s#a##)"',
    [
      ['aws', 'x', '$B'],
      ['sed', 's#a##'],
      ['export', 'A=$(...)'],
    ],
  ],
  [
    'a process that is read',
    'source <(stowage completion bash)',
    [
      ['stowage', 'completion', 'bash'],
      ['source', '$(...)'],
    ],
  ],
  ['a loop', 'for p in a b; do\n  run "$p"\ndone', [['for', 'p', 'in', 'a', 'b'], ['run', '$p'], ['done']]],
  [
    'text over several lines',
    `aws a --policy '{\n  "b": 1\n}'\nls`,
    [['aws', 'a', '--policy', '{\n  "b": 1\n}'], ['ls']],
  ],
  ['an assignment alone', 'A="$(run)"', [['run']]],
])('%s', (_, script, words) => {
  expect(wordsOf(script)).toEqual(words);
});

test('redirections are no words', () => {
  expect(commandsOf('a > b.yaml 2>&1\nc < d.json >> e')).toEqual([
    { words: ['a'], writes: ['b.yaml'] },
    { words: ['c'], writes: ['e'] },
  ]);
});

test('what a command reads from the page is its own', () => {
  expect(commandsOf('kubectl apply -f - <<EOF\nkind: A\n$x\nEOF\ncat > f <<EOF | tee g\nhelm\nEOF\nls')).toEqual([
    { words: ['kubectl', 'apply', '-f', '-'], writes: [], hereDocument: 'kind: A\n$x\n' },
    { words: ['cat'], writes: ['f'], hereDocument: 'helm\n' },
    { words: ['tee', 'g'], writes: [] },
    { words: ['ls'], writes: [] },
  ]);
});
