import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { annotations, taints } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { conditionOf, isTrue, withCondition, withoutCondition } from '../../core/conditions.js';
import { messageOf } from '../../core/error-message.js';
import { hasTaint, withoutTaint } from '../../core/taints.js';
import type { Candidate, DisruptionReason, TaintOwner } from '../../workflows/messages.js';
import { forEachBestEffort, forEachItem } from '../for-each-item.js';
import { managedClaims, nodeOf } from '../../cluster/cluster.js';
import type { DisruptionActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { interruptionNoteOf, noteMark } from '../../cluster/interruption-note.js';
import { identityOf, labelsOf } from '../../cluster/node-labels.js';
import { parseWorkflowId } from '../../core/ids.js';
import { lookUp } from '../../core/own.js';
import { isRecorded } from '../../core/interruption-kinds.js';
import { beyondBudgets } from './budgets-at-the-taint.js';
import { steerPods } from '../consolidation/steering.js';
import { taintNode } from '../termination/mark-nodes.js';
import { updateClaim, updateNode } from '../../cluster/writes.js';
import { regarding } from '../../core/events.js';
import { budgetReasons, disruptionReasons } from '../../api/disruption-reasons.js';

type Marked = Pick<Candidate, 'claim' | 'node'>;
type TaintInput = Parameters<DisruptionActivities['taintCandidates']>[0];
type UntaintInput = Parameters<DisruptionActivities['untaintCandidates']>[0];

/**
 * Taints candidates and sets DisruptionReason; returns those that were marked (commands/taint-first, commands/partly-tainted). A
 * node that cannot be written, or that budgets do not allow any more, stays as it is.
 */
export async function taintCandidates(
  deps: ActivityDeps,
  { candidates: asked, ...why }: TaintInput,
): Promise<Awaited<ReturnType<DisruptionActivities['taintCandidates']>>> {
  const beyond = await beyondBudgets(deps, why.reason, asked);
  const isBeyond = ({ node }: Marked): boolean => beyond.some((one) => one.node === node);
  const candidates = asked.filter((candidate) => !isBeyond(candidate));
  // An earlier attempt, whose answer was lost, may have tainted them.
  if (beyond.length > 0) await untaintCandidates(deps, { candidates: asked.filter(isBeyond), ...ownerOf(why) });
  const tainted = new Set<string>();
  const mark = async (candidate: Marked): Promise<void> => {
    if (await taintCandidate(deps, candidate, why)) tainted.add(candidate.claim.uid);
  };
  const refused = await forEachItem(deps, candidates, mark, { what: 'the taint of a disruption', nameOf });
  for (const { item, why: message } of refused) {
    publishOnNode(deps, item.node, 'Warning', 'DisruptionBlocked', `The API server refused the taint: ${message}`);
    // The taint may have been written, and the condition not.
    await untaintCandidates(deps, { candidates: [item], ...ownerOf(why) });
  }
  return {
    tainted: candidates.flatMap(({ claim }) => (tainted.has(claim.uid) ? [claim.uid] : [])),
    ...(beyond.length === 0 ? {} : { overBudget: beyond }),
  };
}

const ownerOf = ({ owner }: Pick<TaintInput, 'owner'>): Pick<UntaintInput, 'owner'> =>
  owner === undefined ? {} : { owner };

async function taintCandidate(
  deps: ActivityDeps,
  { claim, node }: Marked,
  { reason, noticedAt, ...by }: Pick<TaintInput, 'reason' | 'owner' | 'ownerRun' | 'noticedAt'>,
): Promise<boolean> {
  if ((await taintNode(deps, node)) === undefined) return false;
  const change = { type: 'DisruptionReason', status: 'True', reason, message: reason } as const;
  const marked = await updateClaim(deps.kube, claim, ({ metadata, status }) => ({
    ...(by.owner === undefined || isOwnedBy(metadata.annotations, by)
      ? {}
      : {
          metadata: {
            annotations: {
              ...ownerMarks(by),
              ...(noticedAt !== undefined && isRecorded(reason) ? noteMark({ kind: reason, at: noticedAt }) : {}),
            },
          },
        }),
    status: {
      conditions: withCondition(status?.conditions, change, { now: deps.now(), generation: metadata.generation }),
    },
  }));
  if (marked === undefined) return false;
  publishOnNode(deps, node, 'Normal', 'DisruptionTerminating', `Disrupting Node: ${reason}`);
  return true;
}

type Owner = Pick<TaintInput, 'owner' | 'ownerRun'>;

const ownerIn = (marks: Readonly<Record<string, string>> = {}): Owner => {
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

/** Removes the taints of `owner`, but not from nodes that another workflow has taken over. */
export async function untaintCandidates(deps: ActivityDeps, { candidates, owner }: UntaintInput): Promise<void> {
  const reasons = new Set<string>();
  const free = async ({ claim, node }: Marked): Promise<void> => {
    const reason = await untaint(deps, { claim, node }, owner === undefined ? {} : { owner });
    if (reason !== undefined && isVoluntary(reason)) reasons.add(reason);
  };
  await forEachItem(deps, candidates, free, { what: 'the end of a taint', nameOf });
  // Only the workflow knows the command, so the metric counts the reasons of the nodes.
  for (const reason of reasons) {
    const failed = { decision: '', reason: reason.toLowerCase(), consolidation_type: '' };
    deps.metrics.count('voluntary_disruption_queue_failures_total', failed);
  }
}

/**
 * Removes the taint from a node that stays; a deleting node keeps it. Returns why it was marked, if it was. With `ownerRun`, a taint of another run
 * of the owner stays.
 */
async function untaint(
  deps: ActivityDeps,
  { claim, node }: Marked,
  { owner, ownerRun }: Owner,
): Promise<string | undefined> {
  let reason: string | undefined;
  const ours = { all: true, taint: true };
  const isOfNotice = parseWorkflowId(owner ?? '')?.kind === 'interrupt';
  const live = await updateClaim(deps.kube, claim, ({ metadata, status }) => {
    const present = status?.conditions;
    const { owner: known, ownerRun: knownRun } = ownerIn(metadata.annotations);
    const isOurs = known === undefined || ((owner ?? known) === known && (ownerRun ?? knownRun) === knownRun);
    ours.all = metadata.deletionTimestamp === undefined && isOurs;
    if (!ours.all) return undefined;
    // An interruption notice came meanwhile, and the taint now belongs to it (interruption/recorded-first).
    ours.taint = isOfNotice || interruptionNoteOf({ metadata }) === undefined;
    const isMarked = isTrue(present, 'DisruptionReason');
    if (isMarked) reason = conditionOf(present, 'DisruptionReason')?.reason;
    const metadataChange = withoutMarks(metadata.annotations, ours.taint);
    if (!isMarked && metadataChange === undefined) return undefined;
    return {
      ...(metadataChange === undefined ? {} : { metadata: metadataChange }),
      status: { conditions: withoutCondition(present, 'DisruptionReason') },
    };
  });
  if (live === undefined || !ours.all) return undefined;
  if (!ours.taint) return reason;
  await updateNode(deps.kube, node, (present) => {
    if (present.metadata.deletionTimestamp !== undefined || !hasTaint(present, taints.disrupted)) return undefined;
    return { spec: { taints: withoutTaint(present, taints.disrupted) } };
  });
  return reason;
}

/** Takes the owner off, and with the taint of a notice that too; undefined where neither is there. */
function withoutMarks(
  marks: Readonly<Record<string, string>> | undefined,
  isNoticeOver: boolean,
): { readonly annotations: Readonly<Record<string, null>> } | undefined {
  const { disruptionOwner, disruptionOwnerRun, interruption } = annotations;
  const over = [disruptionOwner, disruptionOwnerRun, ...(isNoticeOver ? [interruption] : [])];
  const there = over.filter((key) => lookUp(marks, key) !== undefined);
  return there.length === 0 ? undefined : { annotations: Object.fromEntries(there.map((key) => [key, null])) };
}

/**
 * Removes taints whose disruption is not running (candidates/left-over-taints). A taint that names its owner stays until that
 * workflow is closed or was started again, and the owner is returned, so that a `disrupt` that lost its state removes no taint of a
 * running disruption.
 */
export async function releaseStrays(
  deps: ActivityDeps,
  { running, isSteering = false }: Parameters<DisruptionActivities['releaseStrays']>[0],
): ReturnType<DisruptionActivities['releaseStrays']> {
  if (!isSteering) await steerPods(deps, { targets: [], steered: [] });
  const own = running.filter(({ isAdopted }) => isAdopted !== true);
  const claimed = new Set(own.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const taintedNodes = managedClaims(deps).flatMap((claim) => taintedNodeOf(deps, claim));
  const released: string[] = [];
  const open: TaintedNode[] = [];
  const release = async (tainted: TaintedNode): Promise<void> => {
    const { claim, owner, ownerRun } = tainted;
    if (owner === undefined ? claimed.has(claim.uid) : await deps.entities.isOpen(owner, ownerRun)) {
      if (!claimed.has(claim.uid)) open.push(tainted);
      return;
    }
    await untaint(deps, tainted, tainted);
    released.push(tainted.node);
  };
  await forEachBestEffort(deps, taintedNodes, release, { what: 'the end of a taint that is left over', nameOf });
  const ended = await endedOf(deps, own);
  const held = await listed(deps, () => deps.entities.held());
  await cancelWithoutNode(deps, running, held ?? []);
  const holders = await listed(deps, () => deps.entities.slotHolders());
  return {
    released: released.sort(compareText),
    owners: ownersOf(open).slice(0, mostOwners),
    ...(ended.length === 0 ? {} : { ended }),
    ...(held === undefined || held.length === 0 ? {} : { held }),
    ...(holders === undefined ? {} : { holders }),
  };
}

/** Undefined where Temporal lists nothing now: the next check will. */
async function listed<T>({ log }: ActivityDeps, list: () => Promise<readonly T[]>): Promise<readonly T[] | undefined> {
  try {
    return await list();
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'the workflows that wait cannot be listed');
    return undefined;
  }
}

/** Ids of workflows that are closed. A workflow that somebody terminated reports no end. Those that began a moment ago are left out. */
async function endedOf(
  deps: ActivityDeps,
  running: Parameters<DisruptionActivities['releaseStrays']>[0]['running'],
): Promise<readonly string[]> {
  const old = running.filter(({ since }) => deps.now() - since >= youngMs).map(({ workflowId }) => workflowId);
  const ended: string[] = [];
  const check = async (workflowId: string): Promise<void> => {
    if (!(await deps.entities.isOpen(workflowId))) ended.push(workflowId);
  };
  const asked = [...new Set(old)].slice(0, mostAsked);
  await forEachBestEffort(deps, asked, check, { what: 'a disruption that runs', nameOf: (id) => id });
  return ended.sort(compareText);
}

/**
 * Ends disruptions that somebody holds though one of their NodeClaims is gone (people/questions-end-with-their-cause). One that drains already
 * still has the taint of what is left.
 */
async function cancelWithoutNode(
  deps: ActivityDeps,
  running: Parameters<typeof releaseStrays>[1]['running'],
  held: readonly string[],
): Promise<void> {
  const claims = new Map(managedClaims(deps).map((claim) => [claim.metadata.uid ?? '', claim]));
  const isWithoutNode = (workflowId: string): boolean => {
    const { kind, subject = [] } = parseWorkflowId(workflowId) ?? {};
    const known = running.find((one) => one.workflowId === workflowId)?.candidates.map(({ claim }) => claim.uid);
    const uids = known ?? (kind !== undefined && ofOneClaim.has(kind) ? subject.slice(0, 1) : []);
    const left = uids.flatMap((uid) => claims.get(uid) ?? []);
    return (
      left.length < uids.length && !left.some(({ metadata }) => ownerIn(metadata.annotations).owner === workflowId)
    );
  };
  const cancel = async (workflowId: string): Promise<void> => {
    deps.log.info({ workflow: workflowId }, 'a disruption that was held ends: its NodeClaim is gone');
    await deps.entities.cancel(workflowId);
  };
  const over = held.filter(isWithoutNode);
  await forEachBestEffort(deps, over, cancel, { what: 'a disruption without its node', nameOf: (id) => id });
}

/** Workflows whose id has the UID of their NodeClaim. */
const ofOneClaim: ReadonlySet<string> = new Set(['expire', 'repair', 'replace']);

/** A disruption that is younger may not have started its workflow yet. */
const youngMs = 60_000;
/** The most workflows that one check asks Temporal about. */
const mostAsked = 100;

/** Bounded, because `disrupt` passes them to each search. */
const mostOwners = 500;

/** Groups by owner, without interruptions: they request no slots and no pause holds them. */
function ownersOf(taintedNodes: readonly TaintedNode[]): TaintOwner[] {
  const owners = new Map<string, TaintOwner>();
  for (const { owner, reason, claim, node, nodePool } of [...taintedNodes].sort((a, b) =>
    compareText(a.node, b.node),
  )) {
    if (owner === undefined || !isDisruptionReason(reason)) continue;
    const before = owners.get(owner)?.candidates ?? [];
    owners.set(owner, { workflowId: owner, reason, candidates: [...before, { claim, node, nodePool }] });
  }
  return [...owners.values()];
}

interface TaintedNode extends Marked, Owner {
  readonly nodePool: string;
  readonly reason: string | undefined;
}

/**
 * The NodeClaim's node, if a disruption tainted it or marked the NodeClaim, and it is not being deleted. With the mark alone: somebody else may have
 * removed the taint.
 */
function taintedNodeOf(deps: ActivityDeps, claim: NodeClaim): TaintedNode[] {
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const node = nodeOf(deps.cache, claim)?.metadata.name;
  // The cloud takes the instance, and the reconciler starts its workflow if it does not run (interruption/restarted).
  if (node === undefined || interruptionNoteOf(claim) !== undefined) return [];
  const mark = conditionOf(claim.status?.conditions, 'DisruptionReason');
  const by = ownerIn(claim.metadata.annotations);
  const { owner } = by;
  if (!isTainted(deps, node) && owner === undefined && mark?.status !== 'True') return [];
  const reason = mark?.reason;
  const marked = { claim: identityOf(claim), node, nodePool: labelsOf(claim).nodePool, reason };
  if (owner !== undefined) return [{ ...marked, ...by }];
  return isOfDisrupt(reason) ? [marked] : [];
}

function isDisruptionReason(reason: string | undefined): reason is DisruptionReason {
  return disruptionReasons.some((one) => one === reason);
}

function isTainted({ cache }: ActivityDeps, name: string): boolean {
  const node = cache.get('Node', { name });
  return node !== undefined && hasTaint(node, taints.disrupted);
}

const nameOf = ({ node }: Marked): string => `Node ${node}`;

function publishOnNode(
  deps: ActivityDeps,
  name: string,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  deps.events.publish({ regarding: regarding('Node', { name }), type, reason, message });
}

/**
 * Whether the mark is of a disruption that `disrupt` knows. Interruptions also taint nodes, but without a slot, and untaint them
 * themselves.
 */
function isOfDisrupt(reason: string | undefined): boolean {
  return isVoluntary(reason) || reason === 'Expired' || reason === 'Unhealthy';
}

/** Whether Karpenter's methods have this reason (candidates/methods-in-order). */
function isVoluntary(reason: string | undefined): boolean {
  return reason === undefined || budgetReasons.some((one) => one === reason);
}
