import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const folders = ['activities', 'cli', 'core', 'disruption', 'operator', 'packing', 'process', 'worker', 'workflows'];
const sources = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`),
);

/** Texts of a source: what stands in quotes or backticks, comments apart. */
function textsOf(path: string): string[] {
  const code = readFileSync(path, 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '');
  return code.match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? [];
}

/** Every text that users may see, with where it stands. */
const texts = sources.flatMap((path) => textsOf(path).map((text) => ({ path, text })));

describe('texts for users', () => {
  test('are found', () => expect(texts.length).toBeGreaterThan(2000));

  // A count and its noun go together by counted() of core/plurals.ts: `1 pods` is no English.
  test('plurals are right', () => {
    const nouns =
      'nodes|pods|replacements|launches|requests|hours|minutes|seconds|days|volumes|types|workflows|NodeClaims|offerings|jobs|' +
      'preferences|domains|times|failures|lines|events|candidates|commands|questions|pauses';
    const count = new RegExp(`(?<!\\bof (?:its )?)\\$\\{[^{}]*\\} (?:more |new |other )?(?:${nouns})\\b`);
    // Of a whole, and what is never one.
    const never = /at most \$\{|\$\{most\w*\} |Ms \/ 1000\}/;
    const wrong = texts.filter(({ text }) => count.test(text) && !never.test(text));
    expect(wrong).toEqual([]);
  });

  test('core/plurals.ts alone makes plurals', () => {
    const made = /=== 1 \? '' : '(?:s|es)'/;
    const wrong = sources.filter((path) => path !== 'core/plurals.ts' && made.test(readFileSync(path, 'utf8')));
    expect(wrong).toEqual([]);
  });

  test.each([
    'nothing that is closed is known',
    'not for sale',
    'Hurried',
    'could be hurried',
    'to prove stable',
    'looked at again from',
    'rejected: rejected',
    'none of ours',
    'is borne',
    'prove itself',
    'proof that',
    'nobody takes any more',
    'kept no word',
    'none of this plan',
    'has not come by',
    'to be told of',
  ])('"%s" is in none', (phrase) => {
    expect(texts.filter(({ text }) => text.includes(phrase))).toEqual([]);
  });
});

// One word a concept, the field's own (docs/glossary.md): these had a meaning here that nobody else knows.
test.each([
  ...[
    'berths?',
    'blueprint',
    'circles',
    'company',
    'drawup',
    'guests?',
    'ladder',
    'peace',
    'promises kept',
    'pursuit',
    'rungs?',
  ],
  ...['sparing', 'tastes?', 'wantscompany', 'wish(es)?'],
])('no source says "%s"', (word) => {
  const found = new RegExp(`\\b${word}\\b`, 'i');
  const wrong = sources.filter((path) => found.test(readFileSync(path, 'utf8')));
  expect(wrong).toEqual([]);
});
