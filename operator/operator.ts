import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isLeaseHeld, runAsLeader } from '../kube/leases.js';
import type { World } from '../worker/world.js';
import { insist } from '../worker/temporal.js';
import { watchCapacityBuffers } from './capacity-buffers.js';
import { watchClaimConditions } from './claim-conditions.js';
import { watchClaims } from './claims.js';
import { watchConsistency } from './consistency.js';
import type { OperatorContext } from './context.js';
import { watchGoodTemplates } from './good-templates.js';
import { watchHealth } from './health.js';
import { watchDisruptionInputs } from './disruption-inputs.js';
import { watchDisruptionPolicies } from './disruption-policies.js';
import { watchDrift } from './drift.js';
import { watchInterruptions } from './interruptions.js';
import { watchNodeClasses } from './node-classes.js';
import { watchNodeOverlays } from './node-overlays.js';
import { watchObjectTimes } from './object-times.js';
import { watchNodePools } from './node-pools.js';
import { watchUndrainable } from './undrainable.js';
import { watchOldAnnotations } from './old-annotations.js';
import { watchPendingPods } from './pending-pods.js';
import { watchReservations } from './reservations.js';
import { watchStaticPools } from './static-pools.js';
import { Starter } from './starter.js';

const karpenterLookMs = 5000;

/**
 * Runs the operator until `signal` aborts: it waits for the lease and for Karpenter to be gone, then turns what it sees
 * into workflows and signals, and writes status. `onLeading` tells whether it acts. A second replica waits.
 */
export async function runOperator(
  world: World,
  client: Client,
  signal: AbortSignal,
  onLeading: (leading: boolean) => void = () => undefined,
): Promise<void> {
  const { settings, log, kube } = world;
  const act = async (leading: AbortSignal): Promise<void> => {
    await untilKarpenterIsGone(world, leading);
    onLeading(true);
    try {
      await lead(world, client, leading);
    } finally {
      onLeading(false);
    }
  };
  if (settings.DISABLE_LEADER_ELECTION) return act(signal);
  while (!signal.aborted) {
    const outcome = await runAsLeader(
      {
        client: kube,
        namespace: settings.LEADER_ELECTION_NAMESPACE,
        name: settings.LEADER_ELECTION_NAME,
        identity: world.identity,
        onLeader: (holder) => {
          if (holder !== undefined && holder !== world.identity) log.info({ holder }, 'another operator leads');
        },
        onError: (error) => log.warn({ error: String(error) }, 'cannot get the lease, trying again'),
      },
      signal,
      act,
    );
    if (outcome === 'lost') log.warn({}, 'lost the lease');
  }
}

/** Two autoscalers on one cluster would undo each other: Karpenter's live leader keeps us waiting (design.md). */
async function untilKarpenterIsGone({ settings, log, kube }: World, signal: AbortSignal): Promise<void> {
  if (settings.KARPENTER_LEADER_ELECTION_NAME === '') return;
  let told = false;
  for (;;) {
    const lease = await insist(
      () => isLeaseHeld({ client: kube, name: settings.KARPENTER_LEADER_ELECTION_NAME, signal }),
      { what: 'the API server', where: 'leases' },
      log,
      signal,
    );
    if (!lease.held) return;
    if (!told) {
      const { namespace, holder } = lease;
      log.warn({ namespace, holder }, 'Karpenter is running: Stowage does nothing until its lease is free');
    }
    told = true;
    await delay(karpenterLookMs, undefined, { signal });
  }
}

async function lead(world: World, client: Client, signal: AbortSignal): Promise<void> {
  const { settings, log } = world;
  const window = { idleMs: settings.BATCH_IDLE_DURATION, maxMs: settings.BATCH_MAX_DURATION };
  const starter = new Starter(client, world.cluster, window);
  const context: OperatorContext = { ...world, starter, window };
  const temporal = { what: 'Temporal', where: settings.TEMPORAL_ADDRESS };
  await insist(() => starter.ensureSchedules(), temporal, log, signal);
  await insist(() => starter.disrupt(), temporal, log, signal);
  await insist(() => starter.configure(), temporal, log, signal);
  log.info({ cluster: world.cluster }, 'leading');
  const stops = [
    watchNodeClasses(context),
    watchNodePools(context),
    watchNodeOverlays(context),
    watchDisruptionPolicies(context),
    watchClaims(context),
    watchClaimConditions(context),
    watchDisruptionInputs(context),
    watchDrift(context),
    watchGoodTemplates(context),
    watchConsistency(context),
    watchPendingPods(context),
    watchCapacityBuffers(context),
    watchHealth(context),
    watchUndrainable(context),
    watchOldAnnotations(context),
    watchReservations(context),
    watchStaticPools(context),
    watchObjectTimes(context),
  ];
  try {
    await watchInterruptions(context, signal);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    for (const stop of stops) stop();
  }
}
