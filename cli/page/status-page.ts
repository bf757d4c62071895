import { pino } from 'pino';
import { packingSettings } from '../../process/packing-settings.js';
import { withRegion } from '../../process/region.js';
import { karpenterLease, leaderLease, nominationMsOf, type Settings } from '../../process/settings.js';
import type { Live } from '../live.js';
import { cloudOf, readCluster } from '../plan-live.js';
import { LivePage } from './live-page.js';
import { pageFile, temporalUiOf } from './page-file.js';

/** `stowage status -o html`: the page as it is now, as one file. */
export async function statusPage(given: Settings, live: Live): Promise<string> {
  const settings = await withRegion(given);
  const log = pino({ level: 'warn', base: undefined }, pino.destination({ dest: 2, sync: true }));
  const cloud = cloudOf(settings, live.kube, log);
  const ending = new AbortController();
  try {
    const cache = await readCluster({ kube: live.kube, cloud, settings, more: ['DisruptionPause'] }, ending.signal);
    const page = new LivePage({
      ...{ ...live, cache, cloud, log, packing: packingSettings(settings, cloud), gates: settings.FEATURE_GATES },
      ...{ now: () => Date.now(), nominationMs: nominationMsOf(settings), nominatePods: settings.NOMINATE_PODS },
      ...{ karpenterLease: karpenterLease(settings), leaderLease: leaderLease(settings) },
      temporalUi: temporalUiOf(settings),
    });
    await page.refresh();
    return pageFile(await page.snapshot());
  } finally {
    ending.abort();
  }
}
