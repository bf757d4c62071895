import { setTimeout } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { statusReport } from './status-report.js';
import { karpenterLease, leaderLease } from '../process/settings.js';
import { liveSettings, readTimeoutMs, withLive } from './live.js';
import { printable } from '../core/text.js';
import { UsageError } from './exit.js';
import { emit } from './output/print.js';
import { statusText } from './output/status-table.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { messageOf } from '../core/error-message.js';

export function statusCommand(): Command {
  return settingsCommand('status')
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['table', 'json', 'html']).default('table'))
    .option('-w, --watch', 'print it again every few seconds, until interrupted');
}

/** `stowage status`: pools, claims and active workflows, as text to print. */
export async function status(args: readonly string[]): Promise<string> {
  const command = statusCommand();
  command.parse(args, { from: 'user' });
  const { output, ...flags } = givenFlags(command);
  const settings = liveSettings(flags);
  return withLive(
    settings,
    'status',
    async (live) => {
      const isWatched = command.opts<{ watch?: boolean }>().watch === true;
      if (output === 'html') {
        if (isWatched) throw new UsageError('-o html is one page: it does not go with --watch');
        const { statusPage } = await import('./page/status-page.js');
        return statusPage(settings, live);
      }
      const look = async (): Promise<string> => {
        const leases = { karpenterLease: karpenterLease(settings), leaderLease: leaderLease(settings) };
        const report = await statusReport({ ...live, ...leases, now: Date.now() });
        return output === 'json' ? `${JSON.stringify(report, null, 1)}\n` : statusText(report);
      };
      if (!isWatched) return look();
      return watch(look, {
        write: (text) => emit(text),
        isTerminal: process.stdout.isTTY,
      });
    },
    readTimeoutMs,
  );
}

interface Screen {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
}

/** Repeatedly prints the result of `look`; reports failures and continues. Ends with `signal`. */
export async function watch(
  look: () => Promise<string>,
  { write, isTerminal }: Screen,
  { everyMs = watchEveryMs, signal = interrupted() }: { readonly everyMs?: number; readonly signal?: AbortSignal } = {},
): Promise<string> {
  while (!signal.aborted) {
    const text = await look().catch((error: unknown) => `${messageOf(error)}\n`);
    write(`${isTerminal ? clearScreen : ''}${printable(text)}${isTerminal ? '' : '\n'}`);
    await setTimeout(everyMs, undefined, { signal }).catch(() => undefined);
  }
  return '';
}

const watchEveryMs = 5000;
/** Cursor home, and clear to the end. */
const clearScreen = '\u001b[H\u001b[2J';

function interrupted(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
}
