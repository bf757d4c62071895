import { Command } from 'commander';
import { UsageError } from './exit.js';

/**
 * A command that rejects empty arguments, such as those of an unset variable in a script, and repeated options, except
 * for those with several values: otherwise the first of two values would be dropped silently. Its subcommands do the
 * same.
 */
export class OnceCommand extends Command {
  override createCommand(name?: string): OnceCommand {
    return new OnceCommand(name);
  }

  override parseOptions(given: string[]): ReturnType<Command['parseOptions']> {
    const at = given.findIndex((one) => one === '' || /^--[\w-]+=$/.test(one));
    const before = given[at] === '' ? given[at - 1] : given[at];
    if (at >= 0)
      throw new UsageError(
        `${before === undefined ? 'the first argument' : `what follows ${before}`} is empty: give a value, or leave it out`,
      );
    return super.parseOptions(given);
  }

  override setOptionValueWithSource(...given: Parameters<Command['setOptionValueWithSource']>): this {
    const [key, value, source] = given;
    const before: unknown = this.getOptionValue(key);
    const option = this.options.find((one) => one.attributeName() === key);
    const isAgain = source === 'cli' && this.getOptionValueSource(key) === 'cli' && option?.variadic === false;
    if (isAgain && before !== value)
      // Not quoted, since a value may be a secret.
      throw new UsageError(`${option.long ?? key} is given twice, with different values: it takes one value`);
    return super.setOptionValueWithSource(...given);
  }
}
