import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { blockedBy, blockedContext } from '../cluster/blocked-nodes.js';
import { managedClaims, nodeNameOf, unpricedView } from '../cluster/cluster.js';
import { labelsOf } from '../cluster/node-labels.js';
import { type ConditionChange, isTrue, nodesUpToDate } from '../core/conditions.js';
import { isDeleting } from '../core/names.js';
import { compareText, counted } from '../core/text.js';
import type { OperatorContext } from './context.js';

/** Nodes are counted this long after a change, milliseconds: once for all changes in that time. */
export const countedAfterMs = 5000;

interface Updates {
  readonly upToDate: number;
  readonly updating: number;
  readonly blocked: number;
}

type Deps = Pick<OperatorContext, 'cache' | 'cloud' | 'now'>;

/** States that end by themselves: such a node is replaced without a change by a person. */
const passing: ReadonlySet<string> = new Set(['disrupting', 'not_initialized']);

/** Counts the nodes of an object, of which some are of an older version of it (node-pools/up-to-date). */
export function updatesOf(
  deps: Deps,
  claims: readonly NodeClaim[],
  isOlder: (claim: NodeClaim) => boolean,
): { readonly updates: Updates; readonly condition: ConditionChange } {
  const older = claims.filter((claim) => isTrue(claim.status?.conditions, 'Drifted') || isOlder(claim));
  const known = new Set(older);
  const upToDate = claims.filter(
    (claim) => !known.has(claim) && !isDeleting(claim) && isTrue(claim.status?.conditions, 'Initialized'),
  ).length;
  const blocked = older.length === 0 ? [] : blockedOf(deps, known);
  const updates = { upToDate, updating: older.length - blocked.length, blocked: blocked.length };
  return { updates, condition: conditionOf(updates, blocked[0]) };
}

/** The blocked ones in the order of their names. */
function blockedOf(deps: Deps, older: ReadonlySet<NodeClaim>): readonly string[] {
  // Budgets count all nodes of a NodePool.
  const views = managedClaims(deps).map((claim) => unpricedView(deps.cache, claim));
  const context = blockedContext(deps, views);
  return views
    .flatMap((view) => {
      const found = older.has(view.claim) ? blockedBy(view, 'Drifted', context) : undefined;
      if (found === undefined || passing.has(found.blocker)) return [];
      const isInTurn =
        found.blocker === 'budget' && (context.counts.get(labelsOf(view.claim).nodePool)?.disrupting ?? 0) > 0;
      return isInTurn ? [] : [`${nodeNameOf(view)}: ${found.why}`];
    })
    .sort(compareText);
}

function conditionOf({ upToDate, updating, blocked }: Updates, first: string | undefined): ConditionChange {
  const total = upToDate + updating + blocked;
  const type = nodesUpToDate;
  if (updating + blocked === 0) return { type, status: 'True', message: `${counted(total, 'node')} up to date` };
  const message = `${upToDate} of ${counted(total, 'node')} up to date, ${updating} updating, ${blocked} blocked`;
  return first === undefined
    ? { type, status: 'False', reason: 'Updating', message }
    : { type, status: 'False', reason: 'Blocked', message: `${message}: ${first}` };
}
