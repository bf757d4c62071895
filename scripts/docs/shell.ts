/** A command of a shell, as a page shows it. */
export interface ShellCommand {
  /** Without quotes; what the shell would put in stays as `$NAME` or `$(...)`. Assignments before the program are left out. */
  readonly words: readonly string[];
  /** Files that it writes by a redirection. */
  readonly writes: readonly string[];
  /** What it reads from the page itself. */
  readonly hereDocument?: string | undefined;
}

interface Draft {
  words: string[];
  writes: string[];
  hereDocument?: string;
}

/** Words of the shell's own that stand before a command. */
const before = new Set(['do', 'then', 'else', '!', 'time']);

/** The commands of a script in order, with those that are run for their output. */
export function commandsOf(script: string): readonly ShellCommand[] {
  return new Reader(script).commands();
}

class Reader {
  private at = 0;
  private draft: Draft = { words: [], writes: [] };
  private readonly found: ShellCommand[] = [];
  /** Documents whose first line comes with the next line. */
  private awaited: { readonly end: string; readonly of: Draft }[] = [];

  constructor(private readonly text: string) {}

  /** All up to the end, or to a parenthesis that nothing here opened. */
  commands(): readonly ShellCommand[] {
    for (;;) {
      if (this.take(/(?:[ \t]|\\\n)+/y) !== undefined) continue;
      const next = this.text[this.at];
      if (next === undefined || next === ')') break;
      if (this.take(/#[^\n]*/y) !== undefined) continue;
      if (this.take(/\n/y) !== undefined) this.endLine();
      else if (this.take(/&&|\|\||[;&|]/y) !== undefined) this.endCommand();
      else if (this.take(/<<-?/y) !== undefined) this.awaited.push({ end: this.afterSpace(), of: this.draft });
      else if (this.take(/\d?>>?(?:&\d)?/y) !== undefined) this.redirect();
      else if (/<[^(]/y.test(this.text.slice(this.at, this.at + 2))) this.input();
      else this.draft.words.push(this.word());
    }
    this.endLine();
    return this.found;
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [taken] = pattern.exec(this.text) ?? [];
    this.at += taken?.length ?? 0;
    return taken;
  }

  private endCommand(): void {
    const { words, ...rest } = this.draft;
    this.draft = { words: [], writes: [] };
    const first = words.findIndex((word) => !before.has(word) && !/^\w+=/.test(word));
    if (first >= 0) this.found.push({ words: words.slice(first), ...rest });
  }

  private endLine(): void {
    for (const { end, of } of this.awaited) {
      const from = this.at;
      const stop = new RegExp(`^${end}$`, 'm').exec(this.text.slice(from));
      of.hereDocument = this.text.slice(from, stop === null ? undefined : from + stop.index);
      this.at = stop === null ? this.text.length : from + stop.index + end.length;
    }
    if (this.awaited.length > 0) this.completeLast();
    else this.endCommand();
    this.awaited = [];
  }

  /** Commands before the last of a line were ended while their documents were still to come. */
  private completeLast(): void {
    for (const { of } of this.awaited) {
      const ended = this.found.findLastIndex(({ writes }) => writes === of.writes);
      if (ended >= 0) this.found[ended] = { ...this.found[ended]!, hereDocument: of.hereDocument };
    }
    this.endCommand();
  }

  private redirect(): void {
    if (this.text[this.at - 2] !== '&') this.draft.writes.push(this.afterSpace());
  }

  private input(): void {
    this.at += 1;
    this.afterSpace();
  }

  private afterSpace(): string {
    this.take(/[ \t]+/y);
    return this.word();
  }

  private word(): string {
    let word = '';
    for (;;) {
      const quoted = this.take(/'[^']*'/y);
      if (quoted !== undefined) word += quoted.slice(1, -1);
      else if (this.take(/"/y) !== undefined) word += this.doubleQuoted();
      else if (this.take(/[$<]\(/y) !== undefined) word += this.substituted();
      else if (this.take(/\\\n/y) !== undefined) continue;
      else {
        const plain = this.take(/\\[^]|[^\s'"\\;&|<>()]/y);
        if (plain === undefined) return word;
        word += plain.replace(/^\\/, '');
      }
    }
  }

  private doubleQuoted(): string {
    let text = '';
    while (this.at < this.text.length && this.take(/"/y) === undefined) {
      if (this.take(/\$\(/y) !== undefined) text += this.substituted();
      else text += this.take(/\\[^]|[^]/y)!.replace(/^\\/, '');
    }
    return text;
  }

  /** Runs for its output: its commands are found as all others are. */
  private substituted(): string {
    const inner = new Reader(this.text.slice(this.at));
    this.found.push(...inner.commands());
    this.at += inner.at + 1;
    return '$(...)';
  }
}
