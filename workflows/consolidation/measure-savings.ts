import { log, sleep } from '@temporalio/workflow';
import { workflowNow } from '../clock.js';
import {
  type MeasureSavingsInput,
  type MeasureSavingsResult,
  type SavingsMeasured,
  savingsQuery,
  searchAttributes,
} from '../messages.js';
import { dollars, counted } from '../../core/text.js';
import { setQueryHandler } from '../handlers.js';
import { Progress } from '../progress.js';
import { activitiesOf } from '../calls/proxies.js';

const hour = 3_600_000;
const measuredAfterMs: readonly number[] = [hour, 24 * hour];

/** Measures what a command has really saved after an hour and after a day, next to its prediction. */
export async function measureSavings({
  cluster,
  command,
  afterMs = measuredAfterMs,
}: MeasureSavingsInput): Promise<MeasureSavingsResult> {
  const measured: SavingsMeasured[] = [];
  setQueryHandler(savingsQuery, () => measured);
  const activities = activitiesOf(cluster);
  const predicted = command.priceBefore - command.priceAfter;
  const progress = new Progress(
    `Savings of moving ${command.nodes.join(', ')}`,
    [
      { key: searchAttributes.cluster, value: cluster },
      { key: searchAttributes.nodePool, value: command.nodePools[0] ?? '' },
      { key: searchAttributes.reason, value: command.reason.toLowerCase() },
      { key: searchAttributes.savingsPerHour, value: Math.round(predicted * 1e6) / 1e6 },
    ],
    { command: command.id, predicted: `${dollars(predicted)}/h`, 'pods moved': command.podsMoved },
    'measuring',
  );
  for (const after of afterMs) {
    const at = command.finishedAt + after;
    const name =
      after < hour ? counted(Math.round(after / 60_000), 'minute') : counted(Math.round(after / hour), 'hour');
    progress.enter('measuring', { waitingFor: `${name} to pass since the command`, until: at });
    if (at > workflowNow()) await sleep(at - workflowNow(), { summary: `${name} since the command` });
    const found = await activities.kube.measureCommand.executeWithOptions(
      { summary: `measure savings after ${name}` },
      [{ command, afterMs: after }],
    );
    measured.push(found);
    log.info('measured what a command saved', { command: command.id, ...found });
    progress.addFacts({ [`after ${name}`]: describe(found) });
  }
  progress.enter('done');
  return { measured };
}

function describe({ realised, running, gone, launchedSince, launchedSincePerHour }: SavingsMeasured): string {
  const since =
    launchedSince === 0
      ? ''
      : `, ${counted(launchedSince, 'node')} launched since for ${dollars(launchedSincePerHour)}/h`;
  return `${dollars(realised)}/h saved; of the replacements ${running} run, ${gone} are gone${since}`;
}
