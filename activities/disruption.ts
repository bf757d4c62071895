import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { taints } from '../api/labels.js';
import { conditionOf, isTrue, withoutCondition } from '../core/conditions.js';
import type { NodeView } from '../disruption/candidates.js';
import { whyNotCandidate } from '../disruption/candidates.js';
import { countPools, consolidatableAt, emptyNodes, isEmpty } from '../disruption/emptiness.js';
import { allowance } from '../disruption/budgets.js';
import type { Candidate, ClaimRef, Pause, RunningDisruption } from '../workflows/messages.js';
import { managedClaims, nodeOf, nodeViews } from './cluster.js';
import type { DisruptionActivities, DisruptionCommand, DisruptionView } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { explainNode } from './explain-node.js';
import { identityOf, labelsOf } from './labels-of.js';
import { setConditions } from './launch.js';
import { decideSlots } from './slots.js';
import { taintNode } from './termination.js';
import { withFailures } from './to-failure.js';
import { updateClaim, updateNode } from './writes.js';

/** One payload holds this many candidates at most; the others are found in the next pass. */
const candidatesPerCommand = 100;

/** Activities of `disrupt` and `consolidate` (sections 4.1 to 4.5, 4.11, 4.12). */
export function createDisruptionActivities(deps: ActivityDeps): DisruptionActivities {
  return withFailures<DisruptionActivities>({
    findDisruptions: (view) => find(deps, view),
    decideSlots: (input) => decideSlots(deps, input),
    explainNode: (input) => explainNode(deps, input),
    validateCandidates: ({ candidates }) => validate(deps, candidates),
    taintCandidates: ({ reason, candidates }) => taint(deps, reason, candidates),
    untaintCandidates: ({ candidates }) => untaintAll(deps, candidates),
    releaseStrays: ({ running }) => releaseStrays(deps, running),
  });
}

async function find(
  deps: ActivityDeps,
  { nominations, pauses, running }: DisruptionView,
): Promise<{ commands: DisruptionCommand[]; nextCheckAt?: number; held: { nodePool: string; why: string }[] }> {
  if (!deps.cache.synced) return { commands: [], nextCheckAt: deps.now() + 1000, held: [] };
  const views = await nodeViews(deps);
  const claimed = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const free = views.filter((view) => !isPaused(pauses, view));
  const decision = emptyNodes(free, countPools(views, claimed), {
    now: deps.now(),
    claimed,
    nominated: new Set(nominations.map(({ node }) => node)),
    podDisruptionBudgets: deps.cache.all('PodDisruptionBudget'),
  });
  const candidates = decision.remove.slice(0, candidatesPerCommand).map(candidateOf);
  if (candidates.length > 0) {
    const counted = { decision: 'delete', reason: 'empty', consolidation_type: 'empty' };
    deps.metrics.count('voluntary_disruption_decisions_total', counted);
    deps.log.info({ nodes: candidates.map(({ node }) => node) }, 'empty nodes may go');
  }
  const held = [
    ...decision.held,
    ...pauses.map(({ scope, reason }) => ({ nodePool: scope.name ?? 'all', why: `paused: ${reason}` })),
  ];
  return {
    commands: candidates.length === 0 ? [] : [{ reason: 'Empty', candidates }],
    ...(decision.nextCheckAt === undefined ? {} : { nextCheckAt: decision.nextCheckAt }),
    held: held.slice(0, 20),
  };
}

function isPaused(pauses: readonly Pause[], { node, pool }: NodeView): boolean {
  return pauses.some(({ scope: { kind, name } }) => {
    if (kind === 'cluster') return true;
    if (kind === 'reason') return name === 'Empty';
    return name === (kind === 'node' ? node?.metadata.name : pool?.metadata.name);
  });
}

function candidateOf({ claim, node, pricePerHour }: NodeView): Candidate {
  return { claim: identityOf(claim), node: node?.metadata.name ?? '', ...labelsOf(claim), pricePerHour };
}

/** Section 4.11, emptiness: whatever still is empty, disruptable and within a budget goes on by itself. */
async function validate(
  deps: ActivityDeps,
  candidates: readonly Candidate[],
): Promise<{ valid: Candidate[]; dropped: { node: string; why: string }[] }> {
  const views = await nodeViews(deps);
  const own = new Set(candidates.map(({ claim }) => claim.uid));
  const counts = countPools(views, new Set());
  const context = {
    now: deps.now(),
    claimed: new Set<string>(),
    nominated: new Set<string>(),
    podDisruptionBudgets: deps.cache.all('PodDisruptionBudget'),
  };
  const left = new Map<string, number>();
  const valid: Candidate[] = [];
  const dropped: { node: string; why: string }[] = [];
  const byUid = new Map(views.map((view) => [view.claim.metadata.uid, view]));
  for (const candidate of candidates.filter(({ claim }) => own.has(claim.uid))) {
    const view = byUid.get(candidate.claim.uid);
    const why = view === undefined ? 'it is gone' : whyNoLonger(view, context);
    if (view === undefined || why !== undefined) {
      dropped.push({ node: candidate.node, why: why ?? '' });
      continue;
    }
    const count = counts.get(candidate.nodePool) ?? { total: 0, disrupting: 0 };
    const allowed =
      left.get(candidate.nodePool) ??
      allowance(view.pool?.spec.disruption.budgets, 'Empty', count, context.now).allowed;
    left.set(candidate.nodePool, allowed - 1);
    if (allowed > 0) valid.push(candidate);
    else dropped.push({ node: candidate.node, why: 'no budget is left' });
  }
  return { valid, dropped };
}

function whyNoLonger(view: NodeView, context: Parameters<typeof whyNotCandidate>[1]): string | undefined {
  if (!isEmpty(view)) return 'pods have come to it';
  if (consolidatableAt(view) > context.now) return 'its pods changed a moment ago';
  return whyNotCandidate(view, context);
}

type Marked = Pick<Candidate, 'claim' | 'node'>;

async function taint(
  deps: ActivityDeps,
  reason: string,
  candidates: readonly Marked[],
): Promise<{ tainted: string[] }> {
  const tainted: string[] = [];
  for (const { claim, node } of candidates) {
    if ((await taintNode(deps, node)) === undefined) continue;
    const marked = await setConditions(deps, claim, [
      { type: 'DisruptionReason', status: 'True', reason, message: reason },
    ]);
    if (marked === undefined) continue;
    tainted.push(claim.uid);
    deps.events.publish({
      regarding: { apiVersion: 'v1', kind: 'Node', name: node },
      type: 'Normal',
      reason: 'DisruptionTerminating',
      message: `Disrupting Node: ${reason}`,
    });
  }
  return { tainted };
}

async function untaintAll(deps: ActivityDeps, candidates: readonly Marked[]): Promise<void> {
  for (const { claim, node } of candidates) await untaint(deps, claim, node);
}

/** Takes the taint off a node that stays; a node that is being deleted keeps it. */
async function untaint(deps: ActivityDeps, claim: ClaimRef, node: string): Promise<void> {
  const live = await updateClaim(deps.kube, claim, ({ metadata, status }) =>
    metadata.deletionTimestamp !== undefined || !isTrue(status?.conditions, 'DisruptionReason')
      ? undefined
      : { status: { conditions: withoutCondition(status?.conditions, 'DisruptionReason') } },
  );
  if (live === undefined || live.metadata.deletionTimestamp !== undefined) return;
  await updateNode(deps.kube, node, ({ metadata, spec }) => {
    const present = spec?.taints ?? [];
    const kept = present.filter(({ key }) => key !== taints.disrupted.key);
    if (metadata.deletionTimestamp !== undefined || kept.length === present.length) return undefined;
    return { spec: { taints: kept } };
  });
}

/** Section 4.1: a taint whose disruption nobody runs is taken off. */
async function releaseStrays(
  deps: ActivityDeps,
  running: readonly RunningDisruption[],
): Promise<{ released: string[] }> {
  const held = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  const released: string[] = [];
  for (const claim of managedClaims(deps)) {
    const node = strayNode(deps, claim);
    const own = identityOf(claim);
    if (node === undefined || held.has(own.uid)) continue;
    await untaint(deps, own, node);
    released.push(node);
  }
  return { released };
}

/** The claim's node where it is tainted for a voluntary disruption and stays. */
function strayNode(deps: ActivityDeps, claim: NodeClaim): string | undefined {
  if (claim.metadata.deletionTimestamp !== undefined) return undefined;
  const node = nodeOf(deps.cache, claim);
  if (node?.spec?.taints?.some(({ key }) => key === taints.disrupted.key) !== true) return undefined;
  const reason = conditionOf(claim.status?.conditions, 'DisruptionReason')?.reason;
  return isVoluntary(reason) ? node.metadata.name : undefined;
}

/** An interruption taints too, and releases its node itself. */
function isVoluntary(reason: string | undefined): boolean {
  return reason === undefined || ['Empty', 'Underutilized', 'Drifted'].includes(reason);
}
