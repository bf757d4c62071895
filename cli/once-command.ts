import { Command } from 'commander';
import { UsageError } from './exit.js';

/** Takes each option once, but for those that take several values: of two values the first would be dropped without a word. Its subcommands do the same. */
export class OnceCommand extends Command {
  override createCommand(name?: string): OnceCommand {
    return new OnceCommand(name);
  }

  override setOptionValueWithSource(...given: Parameters<Command['setOptionValueWithSource']>): this {
    const [key, value, source] = given;
    const before: unknown = this.getOptionValue(key);
    const option = this.options.find((one) => one.attributeName() === key);
    const isAgain = source === 'cli' && this.getOptionValueSource(key) === 'cli' && option?.variadic === false;
    if (isAgain && before !== value)
      // A value may be a secret.
      throw new UsageError(`${option.long ?? key} is given twice, with different values: it takes one value`);
    return super.setOptionValueWithSource(...given);
  }
}
