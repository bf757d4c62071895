import { labels } from '../api/labels.js';
import type { FinishedMove, SavingsMeasured } from '../workflows/messages.js';
import { nodeViews, nameOf } from './cluster.js';
import type { ActivityDeps } from './deps.js';
import { rounded } from './decision-record.js';
import { iso, poolNameOf } from './disruption-context.js';

/**
 * What is left of a move's saving: what went, less what its replacements really cost where they still run. New nodes of the
 * same pools since then are told beside it, for whether they came because of the move nobody can know.
 */
export async function measureMove(
  deps: ActivityDeps,
  { move, afterMs }: { readonly move: FinishedMove; readonly afterMs: number },
): Promise<SavingsMeasured> {
  const views = await nodeViews(deps);
  const uids = new Set(move.replacements.map(({ uid }) => uid));
  const pools = new Set(move.nodePools);
  const running = views.filter(({ claim }) => uids.has(claim.metadata.uid ?? ''));
  const since = views.filter(
    (view) =>
      !uids.has(view.claim.metadata.uid ?? '') &&
      pools.has(poolNameOf(view)) &&
      Date.parse(view.claim.metadata.creationTimestamp ?? '') > move.finishedAt,
  );
  const paid = running.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0);
  const measured: SavingsMeasured = {
    at: iso(deps.now()),
    afterMs,
    promised: rounded(move.priceBefore - move.priceAfter),
    realised: rounded(move.priceBefore - paid),
    running: running.length,
    gone: move.replacements.length - running.length,
    launchedSince: since.length,
    launchedSincePerHour: rounded(since.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0)),
  };
  tell(deps, move, measured);
  for (const view of running) {
    deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Node', name: nameOf(view) },
      type: 'Normal',
      reason: 'SavingsMeasured',
      message: `Launched by ${move.id}: ${measured.realised} USD an hour saved of ${measured.promised} promised, ${Math.round(afterMs / 3_600_000)}h after`,
    });
  }
  return measured;
}

function tell(deps: ActivityDeps, move: FinishedMove, measured: SavingsMeasured): void {
  const own = { nodepool: move.nodePools[0] ?? '', after: `${Math.round(measured.afterMs / 3_600_000)}h` };
  deps.metrics.observe('stowage_move_savings_promised_dollars_per_hour', own, Math.max(0, measured.promised));
  deps.metrics.observe('stowage_move_savings_realised_dollars_per_hour', own, Math.max(0, measured.realised));
  deps.log.info({ move: move.id, [labels.nodePool]: own.nodepool, ...measured }, 'measured what a move saved');
}
