import { disruptionReasons, type DisruptionReason } from '../../api/disruption-reasons.js';
import type { Kind } from '../../kube/port.js';
import { DomainError } from '../../core/failures.js';
import { decideAdmission } from '../../disruption/budgets/admission.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { Candidate } from '../../workflows/messages.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import { laggingKinds } from '../../cluster/lagging-kinds.js';
import { disruptingUids, disruptionContext, poolNameOf } from '../disruption-context/disruption-context.js';
import type { ActivityDeps } from '../deps.js';

type Marked = Pick<Candidate, 'claim' | 'node'>;

/** What budgets are counted from. */
const countedKinds: readonly Kind[] = ['NodePool', 'NodeClaim', 'Node'];
/** So old may what is counted be, milliseconds: a watch that is silent for three seconds is checked, and begins anew when it lags behind. */
const freshWithinMs = 30_000;

/**
 * Of nodes that are about to be tainted, those that budgets and maintenance windows do not allow any more, and why
 * (budgets/counted-at-the-taint). None for a reason that no budget binds. Throws `Unavailable` while the cache lags behind the API server, as it does after an outage.
 */
export async function beyondBudgets(
  deps: ActivityDeps,
  reason: string,
  candidates: readonly Marked[],
): Promise<readonly { readonly node: string; readonly why: string }[]> {
  if (!isBudgeted(reason)) return [];
  await expectFresh(deps);
  const judged = new Set(candidates.map(({ claim }) => claim.uid));
  const context = await disruptionContext(
    deps,
    { nominations: [], pauses: [], running: [] },
    { judged, isForBudgets: true },
  );
  const going = context.views.filter((view) => judged.has(uidOf(view)));
  const [admission] = decideAdmission(
    [{ id: '', reason, candidates: going.map((view) => ({ ...marksOf(view), nodePool: poolNameOf(view) })) }],
    {
      ...context,
      // Rates and quotas were counted when the slot was granted.
      pastDisruptions: [],
      // Whether the others are still there is found out by the taint itself.
      present: judged,
      disrupting: disruptingUids(context, judged),
      paused: () => undefined,
    },
  );
  return admission?.refused.map(({ node, why }) => ({ node, why })) ?? [];
}

/** No budget binds `Unhealthy` (budgets/reasons), nor interruptions. */
function isBudgeted(reason: string): reason is DisruptionReason {
  return reason !== 'Unhealthy' && disruptionReasons.some((one) => one === reason);
}

async function expectFresh({ cache, now }: ActivityDeps): Promise<void> {
  const behind = await laggingKinds(cache, countedKinds, now() - freshWithinMs);
  if (behind.length === 0) return;
  const kinds = behind.join(', ');
  throw new DomainError('Unavailable', `the cache lags behind the API server: ${kinds}. Budgets cannot be counted.`);
}

const uidOf = ({ claim }: NodeView): string => claim.metadata.uid ?? '';
const marksOf = (view: NodeView) => ({ uid: uidOf(view), node: nodeNameOf(view) });
