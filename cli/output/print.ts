import { printable } from '../../core/text.js';

/** On the standard output, for a person. */
export function print(text: string, then?: () => void): void {
  process.stdout.write(printable(text), then);
}

/** On the standard error. */
export function warn(text: string): void {
  process.stderr.write(printable(text));
}

/** On the standard output as it is: a document of ours or of its reader for a program. */
export function emit(text: string): void {
  process.stdout.write(text);
}
