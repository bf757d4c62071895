import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node } from '../../api/kubernetes.js';
import { taints } from '../../api/labels.js';
import { managedClaims, managedPools, nodeOf } from '../../cluster/cluster.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { interruptionNoteOf } from '../../cluster/interruption-note.js';
import { identityOf, labelsOf } from '../../cluster/node-labels.js';
import { recordsOf } from '../../cluster/pool-records.js';
import { compareText } from '../../core/text.js';
import { conditionOf } from '../../core/conditions.js';
import { parseWorkflowId } from '../../core/ids.js';
import { hasTaint } from '../../core/taints.js';
import type { ActivityDeps } from '../deps.js';
import { forEachBestEffort } from '../for-each-item.js';
import { endSteering } from '../consolidation/steering.js';
import { deleteOverPauses } from '../people/pauses.js';
import { release } from './admission.js';
import { isVoluntary, nodeText, ownerIn, untaint, type Marked, type Owner } from './candidate-marks.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { LeftOversRemoved } from './contract.js';

/** The workflow of a younger disruption may not have started yet. */
const youngMs = 60_000;
/** The most workflows that one check asks Temporal about. */
const mostAsked = 100;

/**
 * Removes what is left of disruptions whose workflow is closed or was started again (candidates/left-over-taints):
 * taints, records that count against budgets, and records of waits. Deletes pauses that have ended.
 */
export async function removeLeftOvers(
  deps: ActivityDeps,
  { commands }: Pick<DisruptionView, 'commands'>,
): Promise<LeftOversRemoved> {
  await endSteering(deps);
  await deleteOverPauses(deps);
  const released: string[] = [];
  const free = async (stray: Stray): Promise<void> => {
    // Another writer may have set an owner that is no workflow of this cluster.
    const isWorkflow = parseWorkflowId(stray.owner ?? '')?.cluster === deps.cluster;
    if (isWorkflow && (await deps.entities.isOpen(stray.owner ?? '', stray.ownerRun))) return;
    await untaint(deps, stray, stray);
    await release(deps, [stray], stray.owner);
    released.push(stray.node);
  };
  await forEachBestEffort(deps, strays(deps), free, { what: 'the end of a taint that is left over', nameOf: nodeText });
  const ended = await endedOf(deps, commands);
  return {
    ...(released.length === 0 ? {} : { released: released.sort(compareText) }),
    ...(ended.length === 0 ? {} : { ended }),
  };
}

interface Stray extends Marked, Owner {
  readonly nodePool: string;
}

/** All NodeClaims that a disruption has marked, and its workflow. */
function strays(deps: ActivityDeps): readonly Stray[] {
  const counted = new Map(
    managedPools(deps).flatMap((pool) => recordsOf(pool).records.disrupting.map(({ uid, owner }) => [uid, owner])),
  );
  return managedClaims(deps).flatMap((claim) => strayOf(deps, claim, counted.get(claim.metadata.uid ?? '')));
}

/**
 * The NodeClaim, if a disruption tainted its node, marked it, counts it or waits for it, and it is not being deleted.
 * The mark alone suffices, since another writer may have removed the taint.
 */
function strayOf({ cache }: ActivityDeps, claim: NodeClaim, counts: string | undefined): readonly Stray[] {
  const { metadata } = claim;
  // After an interruption notice the reconciler starts the workflow if it does not run (interruption/restarted).
  if (metadata.deletionTimestamp !== undefined || interruptionNoteOf(claim) !== undefined) return [];
  const node = nodeOf(cache, claim);
  const own = identityOf(claim);
  const found = { claim: own, node: node?.metadata.name ?? own.name, nodePool: labelsOf(claim).nodePool };
  const by = ownerIn(metadata.annotations);
  if (by.owner !== undefined) return [{ ...found, ...by }];
  const other = counts ?? waitOf(claim)?.workflow;
  if (other !== undefined) return [{ ...found, owner: other }];
  return isMarked(claim, node) ? [found] : [];
}

function isMarked({ status }: NodeClaim, node: Node | undefined): boolean {
  const mark = conditionOf(status?.conditions, 'DisruptionReason');
  const isTainted = node !== undefined && hasTaint(node, taints.disrupted);
  return (isTainted || mark?.status === 'True') && isOfDisruption(mark?.reason);
}

/** Ids of commands whose workflow is closed. Commands that began a moment ago are left out. */
async function endedOf(deps: ActivityDeps, commands: DisruptionView['commands']): Promise<readonly string[]> {
  const old = commands.filter(({ since }) => deps.now() - since >= youngMs).map(({ workflowId }) => workflowId);
  const ended: string[] = [];
  const check = async (workflowId: string): Promise<void> => {
    if (!(await deps.entities.isOpen(workflowId))) ended.push(workflowId);
  };
  const asked = [...new Set(old)].slice(0, mostAsked);
  await forEachBestEffort(deps, asked, check, { what: 'a disruption that runs', nameOf: (id) => id });
  return ended.sort(compareText);
}

/** Interruptions also taint nodes, but untaint them themselves. */
function isOfDisruption(reason: string | undefined): boolean {
  return isVoluntary(reason) || reason === 'Expired' || reason === 'Unhealthy';
}
