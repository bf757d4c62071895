import type { Command } from 'commander';

/** A command as a shell completes it. */
export interface Described {
  readonly name: string;
  readonly description: string;
  /** What its first argument may be, where that is a list. */
  readonly words: readonly string[];
  readonly options: readonly DescribedOption[];
}

export interface DescribedOption {
  /** `-o`, where there is one. */
  readonly short?: string;
  /** `--output` */
  readonly long: string;
  readonly description: string;
  /** What follows it: one of a list, something else such as a file, or nothing. */
  readonly value: readonly string[] | 'any' | 'none';
}

const help: DescribedOption = { short: '-h', long: '--help', description: 'show its help', value: 'none' };

/** What shells need of the commands; several under one name are one to them. */
export function describeCommands(commands: ReadonlyMap<string, readonly Command[]>): readonly Described[] {
  return [...commands].map(([name, variants]) => {
    const options = new Map<string, DescribedOption>();
    for (const option of variants.flatMap(optionsOf)) if (!options.has(option.long)) options.set(option.long, option);
    const [first] = variants;
    return {
      name,
      description: first?.description() ?? '',
      words: first?.registeredArguments[0]?.argChoices ?? [],
      options: [...options.values(), help],
    };
  });
}

function optionsOf({ options }: Command): readonly DescribedOption[] {
  return options.flatMap(({ short, long, description, argChoices, required, optional }) => {
    if (long === undefined) return [];
    const value = argChoices ?? (required || optional ? 'any' : 'none');
    return [{ ...(short ? { short } : {}), long, description, value }];
  });
}
