import type { LaunchBatchInput } from '../messages.js';
import { searchAttributes } from '../messages.js';
import { settleAll } from '../../core/settle-all.js';
import { beginLaunch } from '../launch/node-launch.js';
import { Progress } from '../progress.js';
import { counted } from '../../core/plurals.js';

/** Starts the launches of a part of a large plan, and ends: they are nobody's children then. */
export async function launchBatch({ cluster, launches }: LaunchBatchInput): Promise<void> {
  const progress = new Progress(`Starting ${counted(launches.length, 'launch', 'launches')}`, [
    { key: searchAttributes.cluster, value: cluster },
  ]);
  await settleAll(launches, ({ input, ...shown }) => beginLaunch(input, shown));
  progress.enter('done');
}
