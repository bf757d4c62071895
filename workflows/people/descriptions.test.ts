import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import * as messages from '../messages.js';
import { described } from './descriptions.js';

const definitions = (Object.values(messages) as readonly object[])
  .map((each) => each as { readonly type?: string; readonly name?: string })
  .flatMap(({ type, name }) => (type !== undefined && name !== undefined ? [name] : []));

describe('descriptions of signals, updates and queries in the Temporal UI', () => {
  test.each([...new Set(definitions)].sort())(
    '%s: what it does, and an example that can be pasted, or no input',
    (name) => {
      const { description } = described(name);
      expect(description).toBeDefined();
      const [, example] = /Example: (.*)$/.exec(description!) ?? [];
      if (example === undefined) expect(description).toMatch(/No input\.$/);
      else expect(JSON.parse(example)).toBeDefined();
    },
  );

  test('handlers are set in one place, which describes them', () => {
    const setters = readdirSync('workflows', { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .filter((name) => readFileSync(`workflows/${name}`, 'utf8').includes('setHandler('));
    expect(setters).toEqual(['handlers.ts']);
  });
});
