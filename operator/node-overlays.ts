import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import { nodeOverlayIssues } from '../api/karpenter/node-overlay-rules.js';
import { cataloguesOf, managedPools } from '../cluster/cluster.js';
import { overlaysInEffect } from '../cluster/overlays.js';
import { updateObject } from '../cluster/writes.js';
import { conditionOf, withCondition, withReady } from '../core/conditions.js';
import type { ConditionChange } from '../core/conditions.js';
import { gateIsOff } from '../core/feature-gates.js';
import { applyOverlays } from '../packing/compile/overlays.js';
import type { OperatorContext } from './context.js';
import { settleInTurn } from '../core/at-once.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import { nameOf } from '../core/names.js';

const type = 'ValidationSucceeded';
const everyMs = 6 * 3_600_000;
/** One key for all, since conflicts depend on the other overlays. */
const all = 'all';

/**
 * Writes the conditions of NodeOverlays (node-overlays/conditions): when an overlay, a NodePool or a node class
 * changes, and every six hours. With the gate off the condition says so.
 */
export function watchNodeOverlays(context: OperatorContext): () => void {
  const { cache, cloud, log } = context;
  const queue = new WorkQueue('writing the status of NodeOverlays', () => reconcile(context), log);
  const look = (): void => queue.add(all);
  const onChange = ({ type: how, object, previous }: Parameters<Parameters<typeof cache.on>[1]>[0]): void => {
    if (how !== 'modified' || previous?.metadata.generation !== object.metadata.generation) look();
  };
  const stops = [
    cache.on('NodeOverlay', onChange),
    cache.on('NodePool', onChange),
    // The resolved node class is in its status.
    cache.on(cloud.nodeClassKind.kind as 'EC2NodeClass', look),
  ];
  const timer = setInterval(look, everyMs);
  look();
  return () => {
    clearInterval(timer);
    for (const stop of stops) stop();
    queue.stop();
  };
}

async function reconcile(context: OperatorContext): Promise<undefined> {
  const { cache } = context;
  const overlays = cache.all('NodeOverlay');
  if (overlays.length === 0) return undefined;
  const pools = managedPools(context);
  const { conflicts } = applyOverlays(pools, await cataloguesOf(context, pools), overlaysInEffect(context));
  const byName = new Map(overlays.map((overlay) => [nameOf(overlay), overlay]));
  const reconcileOne = reportingRefusals(context, 'NodeOverlay', async (name) =>
    write(context, byName.get(name)!, conditionFor(context, byName.get(name)!, conflicts.get(name))),
  );
  await settleInTurn([...byName.keys()], async (name) => {
    await reconcileOne(name);
  });
  return undefined;
}

function conditionFor(
  { gates }: Pick<OperatorContext, 'gates'>,
  overlay: NodeOverlay,
  conflict: string | undefined,
): ConditionChange {
  const broken = nodeOverlayIssues(overlay).filter(({ severity }) => severity !== 'warning');
  if (broken.length > 0) {
    return {
      type,
      status: 'False',
      reason: 'RuntimeValidation',
      message: broken.map((each) => each.message).join('; '),
    };
  }
  if (!gates.NodeOverlay) return { type, ...gateIsOff('NodeOverlay', 'the overlay changes nothing') };
  if (conflict !== undefined) return { type, status: 'False', reason: 'Conflict', message: conflict };
  return { type, status: 'True' };
}

async function write(
  { kube, log, now }: OperatorContext,
  overlay: NodeOverlay,
  change: ConditionChange,
): Promise<undefined> {
  const known = conditionOf(overlay.status?.conditions, type);
  const { name = '', generation } = overlay.metadata;
  const same = known?.status === change.status && (known.message ?? '') === (change.message ?? '');
  if (same && known.observedGeneration === generation) return undefined;
  await updateObject(
    kube,
    'NodeOverlay',
    name,
    ({ status, metadata }) => {
      const at = { now: now(), generation: metadata.generation };
      return { status: { conditions: withReady(withCondition(status?.conditions, change, at), [type], at) } };
    },
    { subresource: 'status' },
  );
  if (change.status === 'False') {
    log.warn({ nodeOverlay: name, reason: change.reason, problem: change.message }, 'a NodeOverlay is not in effect');
  }
  return undefined;
}
