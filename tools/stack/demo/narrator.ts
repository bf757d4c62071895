import { env, stdout } from 'node:process';

/** What the demo shows: any writer of text. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Prints chapters, actions and observations, each with the seconds since the start. */
export interface Narrator {
  chapter(title: string): void;
  /** Something the demo does. */
  act(text: string): void;
  /** Something that was observed. */
  see(text: string): void;
  plain(text: string): void;
}

const styles = { bold: '1', green: '32', dim: '2' } as const;

interface NarratorOptions {
  readonly now?: () => number;
  /** Where NO_COLOR is looked for (https://no-color.org). */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export function createNarrator(
  output: Output = stdout,
  { now = Date.now, environment = env }: NarratorOptions = {},
): Narrator {
  const started = now();
  const isColoured = output.isTTY === true && (environment['NO_COLOR'] ?? '') === '';
  const style = (name: keyof typeof styles, text: string): string =>
    isColoured ? `\u001b[${styles[name]}m${text}\u001b[0m` : text;
  const line = (mark: string, text: string): void => {
    const seconds = ((now() - started) / 1000).toFixed(1).padStart(6);
    output.write(`${style('dim', `${seconds}s`)} ${mark} ${text}\n`);
  };
  return {
    chapter: (title) => output.write(`\n${style('bold', title)}\n`),
    act: (text) => line(' ', text),
    see: (text) => line(style('green', '✓'), text),
    plain: (text) => output.write(`${text}\n`),
  };
}
