import type { Log } from '../../../core/telemetry.js';

/** Writes, log lines and retries while nothing happens are one of these, or are reported. */
const mostTold = 8;
/** Mistakes of the code, which no fault of the world excuses. */
const mistakes = /TypeError|ReferenceError|RangeError|ZodError|is not a function|Cannot read propert|is not iterable/;

/**
 * Listens to processes. A cluster at rest gives no cause for writes, warnings, failures or repeated tries
 * (invariants/eventually-stable), and nothing that happens is an excuse for a mistake of the code.
 */
export class QuietWatch {
  private readonly noted = new Map<string, number>();

  constructor(private readonly broken: (problem: string) => void) {}

  /** From now on nothing is to be heard any more. */
  begin(): void {
    this.noted.clear();
  }

  note(what: string): void {
    this.noted.set(what, (this.noted.get(what) ?? 0) + 1);
  }

  /** An attempt of an activity failed, or the like: text that says why. */
  noteFailure(what: string): void {
    this.note(what);
    this.expectNoMistake(what);
  }

  /** For processes: warnings and errors are heard. */
  readonly log: Log = {
    debug: (facts, message) => this.expectNoMistake(textOf(facts, message)),
    info: (facts, message) => this.expectNoMistake(textOf(facts, message)),
    warn: (facts, message) => this.noteFailure(textOf(facts, message)),
    error: (facts, message) => this.noteFailure(textOf(facts, message)),
  };

  /** What was heard since `begin`. */
  *heard(): Iterable<string> {
    const loudest = [...this.noted].sort(([, a], [, b]) => b - a).slice(0, mostTold);
    for (const [what, times] of loudest) yield `nothing happens, and yet, ${times} times: ${what}`;
  }

  private expectNoMistake(text: string): void {
    if (mistakes.test(text)) this.broken(`a mistake of the code: ${text}`);
  }
}

const textOf = (facts: object, message: string): string => `${message} ${JSON.stringify(facts).slice(0, 400)}`;
