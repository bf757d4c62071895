import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import type { ConsolidationActivities } from './contract.js';
import { steerPods } from './steering.js';
import { regarding } from '../../core/events.js';
import { labels } from '../../api/labels.js';
import type { FinishedCommand, SavingsMeasured } from '../../workflows/messages.js';
import { nodeNameOf, nodeViews } from '../../cluster/cluster.js';
import { rounded } from '../disruption-context/decision-record.js';
import { iso, poolNameOf } from '../disruption-context/disruption-context.js';

/** Activities around a consolidation: steering evicted pods, and measuring what the command has saved. */
export function createConsolidationActivities(deps: ActivityDeps): ConsolidationActivities {
  return withFailures<ConsolidationActivities>({
    measureCommand: (input) => measureCommand(deps, input),
    steerPods: (input) => steerPods(deps, input),
  });
}

/**
 * Measures the saving of a command: the price of the removed nodes less that of the replacements that still run. New
 * nodes of the same NodePools are reported separately, because it is unknown whether the command caused them.
 */
async function measureCommand(
  deps: ActivityDeps,
  { command, afterMs }: { readonly command: FinishedCommand; readonly afterMs: number },
): Promise<SavingsMeasured> {
  const views = await nodeViews(deps);
  const uids = new Set(command.replacements.map(({ uid }) => uid));
  const pools = new Set(command.nodePools);
  const running = views.filter(({ claim }) => uids.has(claim.metadata.uid ?? ''));
  const since = views.filter(
    (view) =>
      !uids.has(view.claim.metadata.uid ?? '') &&
      pools.has(poolNameOf(view)) &&
      Date.parse(view.claim.metadata.creationTimestamp ?? '') > command.finishedAt,
  );
  const paid = running.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  const measured: SavingsMeasured = {
    at: iso(deps.now()),
    afterMs,
    predicted: rounded(command.priceBefore - command.priceAfter),
    realised: rounded(command.priceBefore - paid),
    running: running.length,
    gone: command.replacements.length - running.length,
    launchedSince: since.length,
    launchedSincePerHour: rounded(since.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0)),
  };
  publishSavings(deps, command, measured);
  for (const view of running) {
    deps.events.publish({
      regarding: regarding('Node', { name: nodeNameOf(view) }),
      type: 'Normal',
      reason: 'SavingsMeasured',
      message: `Launched by ${command.id}: ${measured.realised} USD an hour saved of ${measured.predicted} predicted, ${Math.round(afterMs / 3_600_000)}h after`,
    });
  }
  return measured;
}

function publishSavings(deps: ActivityDeps, command: FinishedCommand, measured: SavingsMeasured): void {
  const own = { nodepool: command.nodePools[0] ?? '', after: `${Math.round(measured.afterMs / 3_600_000)}h` };
  deps.metrics.observe('stowage_command_savings_predicted_dollars_per_hour', own, Math.max(0, measured.predicted));
  deps.metrics.observe('stowage_command_savings_realised_dollars_per_hour', own, Math.max(0, measured.realised));
  deps.log.info({ command: command.id, [labels.nodePool]: own.nodepool, ...measured }, 'measured what a command saved');
}
