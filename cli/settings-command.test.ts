import { describe, expect, test } from 'vitest';
import { UsageError } from './exit.js';
import { pauseCommand } from './pause.js';
import { settingsCommand } from './settings-command.js';

const parsed = (args: readonly string[]) =>
  pauseCommand()
    .parse(['--because', 'x', ...args], { from: 'user' })
    .opts();

describe('an option that takes one value', () => {
  test('is refused with two, for the first would be dropped', () => {
    const twice = () => parsed(['--nodepool', 'd', '--nodepool', 'a']);
    expect(twice).toThrow(UsageError);
    expect(twice).toThrow('--nodepool is given twice, with different values: it takes one value');
  });

  test('may be repeated as it was, and is given in place of its default', () => {
    expect(parsed(['--nodepool', 'd', '--nodepool', 'd'])).toMatchObject({ nodepool: 'd' });
    expect(parsed(['--no-wait', '--no-wait'])).toMatchObject({ wait: false });
  });

  test('is no option that takes several', () => {
    const command = settingsCommand('plan').option('--several <names...>', 'names');
    expect(command.parse(['--several', 'a', '--several', 'b'], { from: 'user' }).opts()).toMatchObject({
      several: ['a', 'b'],
    });
  });
});
