import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { cutText } from '../../core/text.js';
import { replacements } from './fuzz/mutations.js';
import { readersOfObjects, secret, targets, type Target } from './fuzz/targets.js';

/** Cases of the quickest readers; `STOWAGE_FUZZ_CASES=1000000` plays more. */
const cases = Number(process.env['STOWAGE_FUZZ_CASES'] ?? 3000);
const fewest = 100;
const seed = process.env['STOWAGE_FUZZ_SEED'];
/** Processor time that one case may take, milliseconds. */
const longestMs = 1000;
const longestMessage = 4000;

/** Why the reader did wrong by the input; undefined if it read it, or refused it in words. */
function wrongWith({ read, refusals }: Pick<Target, 'read' | 'refusals'>, input: unknown): string | undefined {
  const begun = process.cpuUsage();
  try {
    read(input);
  } catch (error) {
    if (!(error instanceof Error)) return `threw ${String(error)}`;
    const { name, message, stack = '' } = error;
    if (!refusals.some((refusal) => error instanceof refusal))
      return `threw ${name}: ${cutText(message, 200)} ${stack
        .split('\n')
        .filter((line) => /^ +at /.test(line))
        .slice(0, 4)
        .join('')}`;
    if (message.length > longestMessage)
      return `its message has ${message.length} characters: ${cutText(message, 200)}`;
    if (message.includes(secret)) return `its message has a secret: ${cutText(message, 200)}`;
    if (/\n\s+at /.test(message)) return `its message is a stack: ${cutText(message, 200)}`;
  }
  const { user } = process.cpuUsage(begun);
  return user / 1000 > longestMs ? `took ${Math.round(user / 1000)} ms of processor time` : undefined;
}

// Rule `invariants/failures-are-contained`.
describe('any outside input is parsed, or refused with a message, within a second', () => {
  let warnings: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    warnings = jest.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  });
  afterEach(() => warnings.mockRestore());

  test.each(targets)('$name', (target) => {
    const {
      failed,
      counterexample,
      seed: used,
      counterexamplePath,
    } = fc.check(
      fc.property(target.input, (input) => {
        const wrong = wrongWith(target, input);
        if (wrong !== undefined) throw new Error(wrong);
      }),
      {
        numRuns: Math.max(fewest, Math.round(cases / (target.share ?? 1))),
        ...(seed === undefined ? {} : { seed: Number(seed) }),
      },
    );
    // Said here, and briefly: inputs may be long.
    const found = failed
      ? {
          wrong: wrongWith(target, counterexample![0]),
          input: cutText(fc.stringify(counterexample![0]), 300),
          seed: used,
          counterexamplePath,
        }
      : undefined;
    expect(found).toBeUndefined();
    // Parsers quote their text in warnings.
    expect(warnings).not.toHaveBeenCalled();
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  test.each(readersOfObjects)('objects for $name, each field replaced by values of other types', (reader) => {
    const wrong: string[] = [];
    for (const { path, object } of replacements(reader.objects)) {
      const why = wrongWith(reader, object);
      if (why !== undefined) wrong.push(`${path}: ${why}`);
    }
    expect(wrong).toEqual([]);
  });
});
