import { type LaunchBatchInput, searchAttributes } from '../messages.js';
import { settleAll } from '../../core/at-once.js';
import { startLaunch } from '../launch/start-launch.js';
import { Progress } from '../progress.js';
import { counted } from '../../core/text.js';

/** Starts up to a hundred launches of a large plan, and ends. The launches continue without a parent. */
export async function launchBatch({ cluster, launches }: LaunchBatchInput): Promise<void> {
  const progress = new Progress(`Starting ${counted(launches.length, 'launch', 'launches')}`, [
    { key: searchAttributes.cluster, value: cluster },
  ]);
  await settleAll(launches, ({ input, ...shown }) => startLaunch(input, shown));
  progress.enter('done');
}
