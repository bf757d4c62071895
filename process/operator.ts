import { messageOf } from '../core/error-message.js';
import type { Client } from '@temporalio/client';
import { runAsLeader } from '../kube/leases.js';
import type { World } from './world.js';
import { retryUntilWorks } from './temporal.js';
import { watchCapacityBuffers, watchPendingPods } from '../operator/pending-pods.js';
import { watchClaimConditions } from '../operator/claim-conditions.js';
import { watchClaims } from '../operator/claims.js';
import { watchConsistency } from '../operator/consistency.js';
import type { OperatorContext } from '../operator/context.js';
import { watchGoodTemplates } from '../operator/good-templates.js';
import { watchHealth } from '../operator/health.js';
import { DisruptSignals, watchDisruptionInputs } from '../operator/disruption-inputs.js';
import { watchDisruptionPauses } from '../operator/disruption-pauses.js';
import { watchDisruptionPolicies } from '../operator/disruption-policies.js';
import { watchDrift } from '../operator/drift.js';
import { watchInterruptions } from '../operator/interruptions.js';
import { watchClaimMarks } from '../operator/claim-marks.js';
import { watchNodeClasses } from '../operator/node-classes.js';
import { watchNodeOverlays } from '../operator/node-overlays.js';
import { watchObjectTimes } from '../operator/object-times.js';
import { watchNodePools } from '../operator/node-pools.js';
import { publishChanges, publishPoolEvents } from '../operator/change-events.js';
import { publishQuestions } from '../operator/question-events.js';
import { watchUndrainable } from '../operator/undrainable.js';
import { watchOldAnnotations } from '../operator/old-annotations.js';
import { watchReservations } from '../operator/reservations.js';
import { watchGarbage } from '../operator/garbage.js';
import { watchStaticPools } from '../operator/static-pools.js';
import { Starter } from '../operator/starter.js';
import { noMemory, observeEngine } from '../operator/stuck/observe-engine.js';
import { LeaderLoops } from '../operator/stuck/leader-loops.js';
import { StuckWatch, watchStuck } from '../operator/stuck/watch-stuck.js';
import type { ObservedCluster } from '../operator/observed-cluster.js';
import { observedCluster, watchWorkflows } from '../operator/watch-workflows.js';
import { WorkflowReconciler } from '../operator/workflow-reconciler.js';
import { registeringWhereLacking, registerSearchAttributes } from './search-attributes.js';
import { urgently } from '../worker/urgency.js';
import { leaderLease } from './settings.js';

/**
 * Runs the operator until `signal` aborts: while it holds its lease and Karpenter's lease is free, it starts and
 * signals workflows according to watch events, and writes status. A second replica waits. `onLeader` is called with the
 * holder, undefined for none.
 */
export async function runOperator(
  world: World,
  client: Client,
  signal: AbortSignal,
  onLeader: (holder: string | undefined) => void = () => undefined,
): Promise<void> {
  const { settings, log, kube } = world;
  const act = (leading: AbortSignal): Promise<void> =>
    world.karpenter.whileFree(leading, (free) => lead(world, client, free));
  if (settings.DISABLE_LEADER_ELECTION) {
    onLeader(world.identity);
    return act(signal);
  }
  while (!signal.aborted) {
    const outcome = await runAsLeader(
      {
        client: kube,
        ...leaderLease(settings),
        identity: world.identity,
        onLeader: (holder) => {
          onLeader(holder);
          if (holder !== undefined && holder !== world.identity) log.info({ holder }, 'another operator leads');
        },
        onError: (error) => log.warn({ error: messageOf(error) }, 'cannot get the lease, trying again'),
      },
      signal,
      act,
    );
    if (outcome === 'lost') log.warn({}, 'lost the lease');
  }
}

async function lead(world: World, client: Client, signal: AbortSignal): Promise<void> {
  const { settings, log } = world;
  const window = { idleMs: settings.BATCH_IDLE_DURATION, maxMs: settings.BATCH_MAX_DURATION };
  const starter = new Starter(client, world.cluster);
  const observe = (): ObservedCluster => observedCluster({ ...world, starter });
  const register = (): Promise<void> => registerSearchAttributes(client.connection, settings.TEMPORAL_NAMESPACE, log);
  const workflows = new WorkflowReconciler(registeringWhereLacking(starter, register), observe, log, world.metrics);
  const memory = noMemory();
  const loops = new LeaderLoops(world, settings.DISABLE_LEADER_ELECTION ? undefined : leaderLease(settings));
  const stuck = new StuckWatch(
    world,
    () => observeEngine(client, world.cluster, memory),
    loops,
    (workflowId, why) => starter.terminateWorkflow(workflowId, why),
  );
  const signals = new DisruptSignals({ starter, log });
  const signalDisrupt = (): void => signals.signal();
  const context: OperatorContext = { ...world, starter, workflows, stuck, urgently, window };
  const temporal = { address: settings.TEMPORAL_ADDRESS };
  await retryUntilWorks(() => starter.disrupt(), temporal, log, signal);
  log.info({ cluster: world.cluster }, 'leading');
  const stops = [
    watchNodeClasses(context),
    watchNodePools(context),
    watchNodeOverlays(context),
    watchDisruptionPolicies(context),
    watchDisruptionPauses(context),
    watchWorkflows(context, workflows),
    watchClaims(context, signalDisrupt),
    watchClaimConditions(context, signalDisrupt),
    watchDisruptionInputs(context, signalDisrupt),
    watchDrift(context, signalDisrupt),
    watchGoodTemplates(context),
    watchConsistency(context),
    watchClaimMarks(context),
    watchPendingPods(context),
    watchCapacityBuffers(context),
    watchHealth(context),
    watchUndrainable(context),
    watchOldAnnotations(context),
    watchReservations(context),
    publishPoolEvents(context),
    watchStaticPools(context),
    watchGarbage(context, loops),
    watchObjectTimes(context),
    watchStuck(context, stuck),
    publishChanges(context),
    publishQuestions(context, client, world.cluster),
  ];
  try {
    await watchInterruptions(context, signal);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    for (const stop of stops) stop();
    signals.stop();
  }
}
