import { createInterface } from 'node:readline/promises';
import { printable } from '../core/text.js';
import { refusals } from '../workflows/messages.js';
import { UsageError } from './exit.js';
import { RefusedError } from './temporal.js';

/** Prompts the user for one line; null if stdin is not a terminal. */
export type Ask = ((question: string) => Promise<string>) | null;

const terminal: Ask =
  process.stdin.isTTY && process.stderr.isTTY
    ? async (question) => {
        const lines = createInterface({ input: process.stdin, output: process.stderr });
        try {
          return await lines.question(question);
        } finally {
          lines.close();
        }
      }
    : null;

/**
 * Sends an order. If it is refused because pods would lose their protection, a user at a terminal may confirm by typing
 * the subject's name, and it is sent again with `force`. Otherwise throws the refusal.
 */
export async function orForced<T>(
  subject: string,
  send: (force: boolean) => Promise<T>,
  ask: Ask = terminal,
): Promise<T> {
  try {
    return await send(false);
  } catch (error) {
    if (!(error instanceof RefusedError) || error.type !== refusals.breaksProtection || ask === null) throw error;
    const typed = await ask(`${printable(error.message)}\nType "${subject}" to do it all the same: `);
    if (typed.trim() !== subject) throw new UsageError('nothing was done');
    return send(true);
  }
}
