import { describe, expect, test } from '@jest/globals';
import { UsageError } from './exit.js';
import { pauseCommand } from './pause.js';
import { settingsCommand } from './settings-command.js';

const parsed = (args: readonly string[]) =>
  pauseCommand()
    .parse(['--because', 'x', ...args], { from: 'user' })
    .opts();

test.each([
  [['--nodepool', ''], 'what follows --nodepool is empty: give a value, or leave it out'],
  [['--nodepool='], 'what follows --nodepool= is empty'],
  [[''], 'what follows x is empty'],
])('the empty argument in %j is refused', (given, said) => {
  expect(() => parsed(given)).toThrow(UsageError);
  expect(() => parsed(given)).toThrow(said);
});

describe('an option that takes one value', () => {
  test('given twice is refused, since the first value would be dropped', () => {
    const twice = () => parsed(['--nodepool', 'd', '--nodepool', 'a']);
    expect(twice).toThrow(UsageError);
    expect(twice).toThrow('--nodepool is given twice, with different values: it takes one value');
  });

  test('given twice with the same value, or with its default, is accepted', () => {
    expect(parsed(['--nodepool', 'd', '--nodepool', 'd'])).toMatchObject({ nodepool: 'd' });
    expect(parsed(['--no-wait', '--no-wait'])).toMatchObject({ wait: false });
  });

  test('does not include options that take several values', () => {
    const command = settingsCommand('plan').option('--several <names...>', 'names');
    expect(command.parse(['--several', 'a', '--several', 'b'], { from: 'user' }).opts()).toMatchObject({
      several: ['a', 'b'],
    });
  });
});
