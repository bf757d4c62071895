import { log, setHandler, sleep } from '@temporalio/workflow';
import { workflowNow } from './clock.js';
import type { MeasureSavingsInput, MeasureSavingsResult, SavingsMeasured } from './messages.js';
import { savingsQuery, searchAttributes } from './messages.js';
import { dollars } from './move-text.js';
import { Progress } from './progress.js';
import { activitiesOf } from './proxies.js';

const hour = 3_600_000;
const looksAfterMs: readonly number[] = [hour, 24 * hour];

/** What a finished move has really saved after one hour and after one day, beside what it promised. */
export async function measureSavings({
  cluster,
  move,
  afterMs = looksAfterMs,
}: MeasureSavingsInput): Promise<MeasureSavingsResult> {
  const measured: SavingsMeasured[] = [];
  setHandler(savingsQuery, () => measured);
  const activities = activitiesOf(cluster);
  const promised = move.priceBefore - move.priceAfter;
  const progress = new Progress(
    `Savings of moving ${move.nodes.join(', ')}`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.nodePool, value: move.nodePools[0] ?? '' },
      { key: searchAttributes.reason, value: move.reason.toLowerCase() },
      { key: searchAttributes.savingsPerHour, value: Math.round(promised * 1e6) / 1e6 },
    ],
    { move: move.id, promised: `${dollars(promised)}/h`, 'pods moved': move.podsMoved },
    'waiting',
  );
  for (const after of afterMs) {
    const at = move.finishedAt + after;
    const name = after < hour ? `${Math.round(after / 60_000)} minutes` : `${Math.round(after / hour)} hours`;
    progress.enter('waiting', { waitingFor: `${name} to pass since the move`, until: at });
    if (at > workflowNow()) await sleep(at - workflowNow(), { summary: `${name} since the move` });
    const found = await activities.kube.measureMove.executeWithOptions({ summary: `saved after ${name}?` }, [
      { move, afterMs: after },
    ]);
    measured.push(found);
    log.info('measured what a move saved', { move: move.id, ...found });
    progress.note({ [`after ${name}`]: describe(found) });
    progress.attributes([{ key: searchAttributes.savingsPerHour, value: found.realised }]);
  }
  progress.enter('done');
  return { measured };
}

function describe({ realised, running, gone, launchedSince, launchedSincePerHour }: SavingsMeasured): string {
  const since =
    launchedSince === 0 ? '' : `, ${launchedSince} nodes launched since for ${dollars(launchedSincePerHour)}/h`;
  return `${dollars(realised)}/h saved; of the replacements ${running} run, ${gone} are gone${since}`;
}
