import { printable } from '../../core/text.js';

/** Prints text for people to stdout. */
export function print(text: string, then?: () => void): void {
  process.stdout.write(printable(text), then);
}

/** Prints to stderr. */
export function warn(text: string): void {
  process.stderr.write(printable(text));
}

/** Prints a document for programs to stdout, unchanged. */
export function emit(text: string): void {
  process.stdout.write(text);
}
