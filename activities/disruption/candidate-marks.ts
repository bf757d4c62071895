import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations, taints } from '../../api/labels.js';
import { conditionOf, isTrue, withCondition, withoutCondition } from '../../core/conditions.js';
import { hasTaint, withoutTaint } from '../../core/taints.js';
import type { Candidate, CandidateRef, DisruptionReason } from '../../workflows/messages.js';
import { forEachBestEffort, forEachItem } from '../for-each-item.js';
import { waitOf, type DisruptionWait } from '../../cluster/disruption-wait.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { interruptionNoteOf, noteMark } from '../../cluster/interruption-note.js';
import { labelsOf } from '../../cluster/node-labels.js';
import { parseWorkflowId } from '../../core/ids.js';
import { lookUp } from '../../core/own.js';
import { isRecorded } from '../../core/interruption-kinds.js';
import { admit, release, type Admission } from './admission.js';
import { taintNode } from '../termination/mark-nodes.js';
import { updateClaim, updateNode, type ClaimChange } from '../../cluster/writes.js';
import { blockedByPods } from './validation.js';
import { regarding } from '../../core/events.js';
import { budgetReasons } from '../../api/disruption-reasons.js';
import { isDeleting } from '../../core/names.js';

export type Marked = Pick<Candidate, 'claim' | 'node'>;
type TaintInput = Parameters<DisruptionActivities['taintCandidates']>[0];
type UntaintInput = Parameters<DisruptionActivities['untaintCandidates']>[0];

/**
 * Taints the nodes that pauses and budgets allow now, and sets DisruptionReason; returns the marked ones
 * (commands/taint-first, commands/partly-tainted). The others stay unchanged, and their NodeClaims record what is
 * waited for.
 */
export async function taintCandidates(
  deps: ActivityDeps,
  { candidates: asked, together = false, waitsFor = [], method, ...why }: TaintInput,
): Promise<Awaited<ReturnType<DisruptionActivities['taintCandidates']>>> {
  const { owner = '', reason } = why;
  const { admitted, refused, nextCheckAt, alongside } = await admit(deps, {
    reason,
    candidates: asked,
    owner,
    together,
  });
  const candidates = asked.filter(({ claim }) => admitted.has(claim.uid));
  const kept = asked.filter(({ claim }) => !admitted.has(claim.uid));
  // An earlier attempt, whose answer was lost, may have tainted them.
  if (kept.length > 0) await untaintCandidates(deps, { candidates: kept, ...ownerOf(why), keepsWait: true });
  const waited = refused.filter((one) => waitsFor.includes(one.for));
  await noteWaits(deps, { reason, owner, candidates: kept }, { refused: waited, nextCheckAt });
  const tainted = new Set<string>();
  const mark = async (candidate: Marked): Promise<void> => {
    if (await taintCandidate(deps, candidate, why)) tainted.add(candidate.claim.uid);
  };
  const failed = await forEachItem(deps, candidates, mark, { what: 'the taint of a disruption', nameOf: nodeText });
  for (const { item, why: message } of failed)
    publishOnNode(deps, item.node, 'Warning', 'DisruptionBlocked', `The API server refused the taint: ${message}`);
  const marked = candidates.filter(({ claim }) => tainted.has(claim.uid));
  const blocked = method === undefined ? [] : await blockedByPods(deps, method, marked);
  for (const { uid } of blocked) tainted.delete(uid);
  // The taint may have been written, and the condition not.
  const untainted = candidates.filter(({ claim }) => !tainted.has(claim.uid));
  if (untainted.length > 0) await untaintCandidates(deps, { candidates: untainted, ...ownerOf(why) });
  return {
    tainted: candidates.flatMap(({ claim }) => (tainted.has(claim.uid) ? [claim.uid] : [])),
    ...(refused.length + blocked.length === 0
      ? {}
      : {
          refused: [...refused, ...blocked.map(({ node, why: pods }) => ({ node, why: pods, for: 'Pods' as const }))],
        }),
    ...(nextCheckAt === undefined ? {} : { nextCheckAt }),
    ...(alongside.length === 0 ? {} : { alongside }),
  };
}

async function noteWaits(
  deps: ActivityDeps,
  {
    reason,
    owner,
    candidates,
  }: { readonly reason: string; readonly owner: string; readonly candidates: readonly Marked[] },
  { refused, nextCheckAt: until }: Pick<Admission, 'refused'> & { readonly nextCheckAt: number | undefined },
): Promise<void> {
  const note = async ({ claim, node }: Marked): Promise<void> => {
    const wait = refused.find((one) => one.node === node);
    if (wait?.for !== 'Budget' && wait?.for !== 'Pause') return;
    await noteWait(deps, claim, {
      ...{ workflow: owner, reason: reason as DisruptionReason, for: wait.for, why: wait.why },
      ...(until === undefined ? {} : { until }),
    });
  };
  await forEachBestEffort(deps, candidates, note, { what: 'the wait of a disruption', nameOf: nodeText });
}

/** Records on the NodeClaims that a command waits for approval (people/questions-end-with-their-cause). */
export async function noteQuestion(
  deps: ActivityDeps,
  candidates: readonly Marked[],
  question: Omit<DisruptionWait, 'since' | 'for'>,
): Promise<void> {
  const note = ({ claim }: Marked): Promise<void> => noteWait(deps, claim, { ...question, for: 'Approval' });
  await forEachItem(deps, candidates, note, { what: 'the question about a disruption', nameOf: nodeText });
}

/**
 * Records on the NodeClaim what its disruption waits for; `since` stays while the same workflow waits for the same kind
 * of event.
 */
async function noteWait(
  deps: ActivityDeps,
  claim: Marked['claim'],
  wait: Omit<DisruptionWait, 'since'>,
): Promise<void> {
  await updateClaim(deps.kube, claim, (live) => {
    const before = waitOf(live);
    const isSame = before?.workflow === wait.workflow && before.for === wait.for;
    const text = JSON.stringify({ ...wait, since: isSame ? before.since : deps.now() });
    if (lookUp(live.metadata.annotations, annotations.disruptionWait) === text) return undefined;
    return { metadata: { annotations: { [annotations.disruptionWait]: text } } };
  });
}

const ownerOf = ({ owner }: Pick<TaintInput, 'owner'>): Pick<UntaintInput, 'owner'> =>
  owner === undefined ? {} : { owner };

async function taintCandidate(
  deps: ActivityDeps,
  { claim, node }: Marked,
  { reason, noticedAt, ...by }: Pick<TaintInput, 'reason' | 'owner' | 'ownerRun' | 'noticedAt'>,
): Promise<boolean> {
  const change = { type: 'DisruptionReason', status: 'True', reason, message: reason } as const;
  const marked = await updateClaim(deps.kube, claim, ({ metadata, status }) => ({
    ...(by.owner === undefined || isOwnedBy(metadata.annotations, by)
      ? {}
      : {
          metadata: {
            annotations: {
              ...ownerMarks(by),
              ...(lookUp(metadata.annotations, annotations.disruptionWait) === undefined
                ? {}
                : { [annotations.disruptionWait]: null }),
              ...(noticedAt !== undefined && isRecorded(reason) ? noteMark({ kind: reason, at: noticedAt }) : {}),
            },
          },
        }),
    status: {
      conditions: withCondition(status?.conditions, change, { now: deps.now(), generation: metadata.generation }),
    },
  }));
  // The owner is written before the taint, because a taint is only removed for its owner.
  if (marked === undefined || (await taintNode(deps, node)) === undefined) return false;
  publishOnNode(deps, node, 'Normal', 'DisruptionTerminating', `Disrupting Node: ${reason}`);
  return true;
}

export type Owner = Pick<TaintInput, 'owner' | 'ownerRun'>;

export const ownerIn = (marks: Readonly<Record<string, string>> = {}): Owner => {
  const [owner, ownerRun] = [marks[annotations.disruptionOwner], marks[annotations.disruptionOwnerRun]];
  return { ...(owner === undefined ? {} : { owner }), ...(ownerRun === undefined ? {} : { ownerRun }) };
};

function isOwnedBy(marks: Readonly<Record<string, string>> | undefined, { owner, ownerRun }: Owner): boolean {
  const known = ownerIn(marks);
  return known.owner === owner && known.ownerRun === ownerRun;
}

const ownerMarks = ({ owner, ownerRun }: Owner): Record<string, string | null> => ({
  [annotations.disruptionOwner]: owner ?? null,
  [annotations.disruptionOwnerRun]: ownerRun ?? null,
});

/**
 * Removes the taints of `owner`, and the record of its wait unless `keepsWait` is set, but not from nodes that another
 * workflow has taken over. The nodes no longer count against budgets.
 */
export async function untaintCandidates(
  deps: ActivityDeps,
  { candidates, owner, keepsWait = false }: UntaintInput & { readonly keepsWait?: boolean },
): Promise<void> {
  const reasons = new Set<string>();
  const freed: CandidateRef[] = [];
  const free = async ({ claim, node }: Marked): Promise<void> => {
    const { reason, nodePool } = await untaint(
      deps,
      { claim, node },
      { ...(owner === undefined ? {} : { owner }) },
      keepsWait,
    );
    if (reason !== undefined && isVoluntary(reason)) reasons.add(reason);
    if (nodePool !== undefined) freed.push({ claim, node, nodePool });
  };
  await forEachItem(deps, candidates, free, { what: 'the end of a taint', nameOf: nodeText });
  await release(deps, freed, owner);
  // Only the workflow knows the command, so the metric counts the reasons of the nodes.
  for (const reason of reasons) {
    const failed = { decision: '', reason: reason.toLowerCase(), consolidation_type: '' };
    deps.metrics.count('voluntary_disruption_queue_failures_total', failed);
  }
}

/**
 * Removes the taint from a node that stays; a deleting node keeps it. Returns why the node was marked, if it was, and
 * its NodePool, if it no longer counts as disrupted. With `ownerRun`, a taint of another run of the owner stays.
 */
export async function untaint(
  deps: ActivityDeps,
  { claim, node }: Marked,
  by: Owner,
  keepsWait = false,
): Promise<{ readonly reason?: string; readonly nodePool?: string }> {
  const state: { end?: EndOfMarks } = {};
  const live = await updateClaim(
    deps.kube,
    claim,
    (present) => (state.end = endOfMarks(present, by, keepsWait)).change,
  );
  const { end } = state;
  if (live === undefined || end === undefined || end.isGoing) return {};
  const { nodePool } = labelsOf(live);
  if (!end.isOurs) return { nodePool };
  const freed = { nodePool, ...(end.reason === undefined ? {} : { reason: end.reason }) };
  if (!end.isTaintOurs) return freed;
  await updateNode(deps.kube, node, (present) => {
    if (isDeleting(present) || !hasTaint(present, taints.disrupted)) return undefined;
    return { spec: { taints: withoutTaint(present, taints.disrupted) } };
  });
  return freed;
}

/** Which marks of a NodeClaim an owner may remove, and the change that removes them. */
interface EndOfMarks {
  readonly isGoing: boolean;
  readonly isOurs: boolean;
  readonly isTaintOurs: boolean;
  /** Why the node was marked. */
  readonly reason: string | undefined;
  readonly change: ClaimChange | undefined;
}

type Ownership = Pick<EndOfMarks, 'isGoing' | 'isOurs' | 'isTaintOurs'>;

function ownershipOf({ metadata }: NodeClaim, { owner, ownerRun }: Owner): Ownership {
  const isGoing = metadata.deletionTimestamp !== undefined;
  const known = ownerIn(metadata.annotations);
  const isOurs = !isGoing && (owner ?? known.owner) === known.owner && (ownerRun ?? known.ownerRun) === known.ownerRun;
  // If an interruption notice came meanwhile, the taint belongs to it (interruption/recorded-first).
  const isOfNotice = parseWorkflowId(owner ?? '')?.kind === 'interrupt';
  return { isGoing, isOurs, isTaintOurs: isOfNotice || interruptionNoteOf({ metadata }) === undefined };
}

function endOfMarks(claim: NodeClaim, by: Owner, keepsWait: boolean): EndOfMarks {
  const { metadata, status } = claim;
  const ownership = ownershipOf(claim, by);
  const { isOurs, isTaintOurs } = ownership;
  const isMarked = isOurs && isTrue(status?.conditions, 'DisruptionReason');
  const over = {
    ...(isOurs ? withoutMarks(metadata.annotations, isTaintOurs) : {}),
    ...(keepsWait ? {} : withoutWait(claim, by.owner)),
  };
  const hasAnnotations = Object.keys(over).length > 0;
  const change: ClaimChange = {
    ...(hasAnnotations ? { metadata: { annotations: over } } : {}),
    ...(isMarked ? { status: { conditions: withoutCondition(status?.conditions, 'DisruptionReason') } } : {}),
  };
  return {
    ...ownership,
    reason: isMarked ? conditionOf(status?.conditions, 'DisruptionReason')?.reason : undefined,
    change: hasAnnotations || isMarked ? change : undefined,
  };
}

/** A patch that removes the record of the owner's wait, if there is one; without an owner, that of any. */
function withoutWait(claim: Pick<NodeClaim, 'metadata'>, owner: string | undefined): Readonly<Record<string, null>> {
  const wait = waitOf(claim);
  const isOver = wait !== undefined && (owner === undefined || wait.workflow === owner);
  return isOver ? { [annotations.disruptionWait]: null } : {};
}

/**
 * A patch that removes the owner and its targets, and the mark of an interruption notice if its taint is removed, as far as they exist.
 */
function withoutMarks(
  marks: Readonly<Record<string, string>> | undefined,
  isNoticeOver: boolean,
): Readonly<Record<string, null>> {
  const { disruptionOwner, disruptionOwnerRun, interruption, steersTo } = annotations;
  const over = [disruptionOwner, disruptionOwnerRun, steersTo, ...(isNoticeOver ? [interruption] : [])];
  return Object.fromEntries(over.filter((key) => lookUp(marks, key) !== undefined).map((key) => [key, null]));
}

export const nodeText = ({ node }: Marked): string => `Node ${node}`;

function publishOnNode(
  deps: ActivityDeps,
  name: string,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  deps.events.publish({ regarding: regarding('Node', { name }), type, reason, message });
}

/** Whether the reason belongs to one of Karpenter's methods (candidates/methods-in-order). */
export function isVoluntary(reason: string | undefined): boolean {
  return reason === undefined || budgetReasons.some((one) => one === reason);
}
