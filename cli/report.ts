import type { Command } from 'commander';
import { Option } from 'commander';
import { DurationError, parseDuration } from '../core/durations.js';
import { parseWorkflowId } from '../core/ids.js';
import { searchAttributes } from '../workflows/messages.js';
import { UsageError } from './exit.js';
import type { ActivityReport, DoneRow } from './output/report-table.js';
import { reportText } from './output/report-table.js';
import { settingsCommand, steeringSettings } from './settings-command.js';
import { withTemporal, type Target } from './temporal.js';

/** Entities go on under the same id when a run of theirs ends, and stores differ in whether running ones match. */
const told: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);
/** More workflows than this are counted as far as the list goes. */
const mostRead = 5000;

export function reportCommand(): Command {
  return settingsCommand('report', { only: steeringSettings })
    .option('--since <duration>', 'how far back', '24h')
    .addOption(new Option('-o, --output <form>', 'how to print').choices(['table', 'json']).default('table'));
}

/** `stowage report`: what was done lately, and what it saves, as Temporal's visibility store has it. */
export async function report(args: readonly string[]): Promise<string> {
  const command = reportCommand();
  command.parse(args, { from: 'user' });
  const { since, output } = command.opts<{ since: string; output: 'table' | 'json' }>();
  const sinceMs = lengthOf(since);
  const done = await withTemporal(command, (target) => readDone(target, Date.now() - sinceMs));
  return output === 'json' ? `${JSON.stringify(done, null, 1)}\n` : reportText(done, since);
}

function lengthOf(text: string): number {
  try {
    return parseDuration(text, '--since');
  } catch (error) {
    if (error instanceof DurationError) throw new UsageError(error.message);
    throw error;
  }
}

async function readDone({ client, cluster }: Target, since: number): Promise<ActivityReport> {
  const query = [
    `StowageCluster = '${cluster.replaceAll("'", "''")}'`,
    `CloseTime > '${new Date(since).toISOString()}'`,
  ].join(' AND ');
  const rows: DoneRow[] = [];
  let truncated = false;
  for await (const { workflowId, status, startTime, closeTime, typedSearchAttributes } of client.workflow.list({
    query,
  })) {
    if (rows.length >= mostRead) {
      truncated = true;
      break;
    }
    const kind = parseWorkflowId(workflowId)?.kind;
    if (kind === undefined || !told.has(status.name)) continue;
    rows.push({
      workflowId,
      kind,
      reason: typedSearchAttributes.get(searchAttributes.reason) ?? '',
      nodePool: typedSearchAttributes.get(searchAttributes.nodePool) ?? '',
      nodeClaim: typedSearchAttributes.get(searchAttributes.nodeClaim) ?? '',
      outcome:
        status.name === 'COMPLETED'
          ? (typedSearchAttributes.get(searchAttributes.phase) ?? '')
          : status.name.toLowerCase(),
      savedPerHour: typedSearchAttributes.get(searchAttributes.savingsPerHour) ?? 0,
      startedAt: startTime.toISOString(),
      closedAt: (closeTime ?? startTime).toISOString(),
    });
  }
  return { since: new Date(since).toISOString(), truncated, rows };
}
