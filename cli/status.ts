import { Option } from 'commander';
import { statusReport } from '../operator/status-report.js';
import { liveSettings, withLive } from './live.js';
import { statusText } from './output/status-table.js';
import { givenFlags, settingsCommand } from './settings-command.js';

/** `stowage status`: pools, claims and what is under way, as text to print. */
export async function status(args: readonly string[]): Promise<string> {
  const command = settingsCommand('stowage status', 'show pools, NodeClaims and what is under way').addOption(
    new Option('-o, --output <form>', 'how to print').choices(['table', 'json']).default('table'),
  );
  command.parse(args, { from: 'user' });
  const { output, ...flags } = givenFlags(command);
  const report = await withLive(liveSettings(flags), 'status', (live) => statusReport({ ...live, now: Date.now() }));
  return output === 'json' ? `${JSON.stringify(report, null, 1)}\n` : statusText(report);
}
