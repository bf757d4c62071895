import { decideAdmission } from '../../disruption/budgets/admission.js';
import type { SlotDecision } from '../../workflows/messages.js';
import type { DisruptionActivities } from './contract.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { ActivityDeps } from '../deps.js';
import { disruptingUids, disruptionContext, uidsOf } from '../disruption-context/disruption-context.js';
import { whyPaused } from '../disruption-context/paused.js';

type Input = Parameters<DisruptionActivities['decideSlots']>[0];

const notSyncedAgainMs = 1000;

/** UIDs of NodeClaims that running disruptions will remove; disruptions that a pause holds have given their nodes back. */
function claimsToRemove({ running, pauses }: DisruptionView): ReadonlySet<string> {
  const active = running.filter(
    ({ reason, candidates }) => !candidates.some((node) => whyPaused(pauses, reason, node) !== undefined),
  );
  return new Set(active.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
}

/** Decides about slots for disruptions that `disrupt` does not start itself (budgets/every-disruption-asks). */
export async function decideSlots(
  deps: ActivityDeps,
  { view, requests }: Input,
): Promise<{ readonly decisions: readonly SlotDecision[] }> {
  if (!deps.cache.synced) return { decisions: refusedUntilSynced(deps, requests) };
  // A requester may have tainted its node already, if `disrupt` lost its state: such a taint does not count against it.
  const requested = new Set(requests.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const context = await disruptionContext(deps, view, { judged: requested, isForBudgets: true });
  const admissions = decideAdmission(requests.map(applicationOf), {
    now: context.now,
    policies: context.policies,
    pastDisruptions: context.pastDisruptions,
    pools: context.pools,
    counts: context.counts,
    present: uidsOf(context.views.filter(({ claim }) => claim.metadata.deletionTimestamp === undefined)),
    claimed: claimsToRemove(view),
    disrupting: disruptingUids(context, requested),
    paused: (reason, candidate) => whyPaused(context.pauses, reason, candidate),
  });
  const decisions = admissions.map((admission) => ({
    ...admission,
    granted: admission.granted.map(({ candidate }) => candidate),
  }));
  // `disrupt` grants in this order, and what is granted later reckons with what was granted before (people/one-after-another).
  const empty = new Set(requests.filter(({ reason }) => reason === 'Empty').map(({ id }) => id));
  const isEmpty = ({ id }: SlotDecision): boolean => empty.has(id);
  return { decisions: [...decisions.filter(isEmpty), ...decisions.filter((decision) => !isEmpty(decision))] };
}

type SlotRequest = Input['requests'][number];

function refusedUntilSynced({ now }: ActivityDeps, requests: readonly SlotRequest[]): readonly SlotDecision[] {
  const why = 'the cluster cache is still being filled';
  const nextCheckAt = now() + notSyncedAgainMs;
  return requests.map(({ id, candidates }) => ({
    id,
    granted: [],
    refused: candidates.map(({ node }) => ({ node, why })),
    nextCheckAt,
  }));
}

function applicationOf({ id, reason, candidates, together }: SlotRequest) {
  return {
    id,
    reason,
    ...(together === undefined ? {} : { together }),
    candidates: candidates.map((candidate) => ({
      uid: candidate.claim.uid,
      node: candidate.node,
      nodePool: candidate.nodePool,
      candidate,
    })),
  };
}
