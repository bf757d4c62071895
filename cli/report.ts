import type { Command } from 'commander';
import { Option } from 'commander';
import { DurationError, parseDuration } from '../core/durations.js';
import { UsageError } from './exit.js';
import { reportPage } from './report/page.js';
import { reportText } from './report/report-table.js';
import { readActivity } from './report/read-activity.js';
import { reportOf, type ActivityReport } from './report/sums.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { type TemporalTarget, withTemporal } from './temporal.js';

type Form = 'table' | 'json' | 'html';

export function reportCommand(): Command {
  return settingsCommand('report', { only: steeringSettings })
    .option('--since <duration>', 'how far back', '24h')
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['table', 'json', 'html']).default('table'));
}

/** `stowage report`: recent actions and their savings, from Temporal. */
export async function report(args: readonly string[]): Promise<string> {
  const command = reportCommand();
  command.parse(args, { from: 'user' });
  const { since, output } = command.opts<{ since: string; output: Form }>();
  const sinceMs = lengthOf(since);
  const activity = await withTemporal(command, (target) => recentActivity(target, sinceMs));
  return printed(activity, output, since);
}

/** What the command and the API answer. */
export async function recentActivity(
  { client, cluster }: Pick<TemporalTarget, 'client' | 'cluster'>,
  sinceMs: number,
): Promise<ActivityReport> {
  const now = Date.now();
  return reportOf(await readActivity({ client, cluster, since: now - sinceMs, now }));
}

function printed(activity: ActivityReport, form: Form, since: string): string {
  if (form === 'json') return `${JSON.stringify(activity, null, 1)}\n`;
  return form === 'table' ? reportText(activity, since) : reportPage(activity, since);
}

/** Throws `UsageError` for what is no duration. */
export function lengthOf(text: string): number {
  try {
    return parseDuration(text, '--since');
  } catch (error) {
    if (error instanceof DurationError) throw new UsageError(error.message);
    throw error;
  }
}
