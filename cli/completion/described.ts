import type { Command } from 'commander';

/** A command for completion. */
export interface Described {
  readonly name: string;
  readonly description: string;
  /** The possible values of its first argument, if they are a list. */
  readonly words: readonly string[];
  readonly options: readonly DescribedOption[];
}

export interface DescribedOption {
  /** `-o`, if there is one. */
  readonly short?: string;
  /** `--output` */
  readonly long: string;
  readonly description: string;
  /** Its value: one of a list, any (such as a file), or none. */
  readonly value: readonly string[] | 'any' | 'none';
}

const help: DescribedOption = { short: '-h', long: '--help', description: 'show its help', value: 'none' };

/** The data for shells; several commands with one name are combined. */
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
