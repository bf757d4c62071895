import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { PoolCount } from './budgets.js';
import { limitOf } from './limits.js';
import type { LimitsContext } from './limits.js';
import type { PastDisruption } from './limits/past-disruptions.js';
import type { DisruptionReason } from '../../api/disruption-reasons.js';

/** A node that a disruption is to take. */
export interface Applicant {
  readonly uid: string;
  readonly node: string;
  readonly nodePool: string;
}

export interface Application<A extends Applicant = Applicant> {
  readonly id: string;
  readonly reason: DisruptionReason;
  readonly candidates: readonly A[];
  /** Whether either all candidates are admitted or none. */
  readonly together?: boolean;
}

interface AdmissionContext extends LimitsContext {
  readonly pools: ReadonlyMap<string, NodePool>;
  /** The nodes that budgets count, by NodePool (budgets/counted-nodes); claimed nodes count as disrupting. */
  readonly counts: ReadonlyMap<string, PoolCount>;
  /** NodeClaims that exist and are not being deleted. */
  readonly present: ReadonlySet<string>;
  /** NodeClaims that a running disruption will remove; absent: none. */
  readonly claimed?: ReadonlySet<string>;
  /** NodeClaims that count as disrupting already, for any reason. */
  readonly disrupting: ReadonlySet<string>;
  /** Why a disruption for this reason is paused, in words; undefined if it is not. */
  readonly paused: (reason: DisruptionReason, candidate: Applicant) => string | undefined;
}

/** A node that is not admitted now, and why, in words. */
interface RefusedApplicant {
  readonly node: string;
  readonly why: string;
  /** Whether a pause is the reason: a pause applies even past the deadlines of a policy. */
  readonly paused?: true;
  /** Whether the node is gone or being deleted, so that it is never admitted. */
  readonly gone?: true;
}

interface AdmissionDecision<A extends Applicant = Applicant> {
  readonly id: string;
  readonly granted: readonly A[];
  readonly refused: readonly RefusedApplicant[];
  /** Milliseconds of the epoch. */
  readonly nextCheckAt?: number;
}

/**
 * Admits nodes in the order of the applications, as far as the limits of each NodePool allow. Limits without reasons
 * are shared: nodes that are admitted for one application count for later ones with other reasons. A node that already
 * counts as disrupting (NotReady, for example) does not count again.
 */
export function decideAdmission<A extends Applicant>(
  applications: readonly Application<A>[],
  context: AdmissionContext,
): readonly AdmissionDecision<A>[] {
  let account: Account = { taken: new Map(), granted: new Set(), pastDisruptions: context.pastDisruptions ?? [] };
  return applications.map((application) => {
    const { admission, after } = decide(application, account, context);
    const isPart = admission.granted.length > 0 && admission.refused.length > 0;
    if (application.together !== true || !isPart) {
      account = after;
      return admission;
    }
    const why = `it is disrupted only together with others: ${admission.refused[0]!.node}: ${admission.refused[0]!.why}`;
    const others = admission.granted.map(({ node }) => ({ node, why }));
    return { ...admission, granted: [], refused: [...admission.refused, ...others] };
  });
}

/** The nodes that were admitted for earlier applications. */
interface Account {
  readonly taken: ReadonlyMap<string, number>;
  readonly granted: ReadonlySet<string>;
  readonly pastDisruptions: readonly PastDisruption[];
}

function decide<A extends Applicant>(
  { id, reason, candidates }: Application<A>,
  before: Account,
  context: AdmissionContext,
): { readonly admission: AdmissionDecision<A>; readonly after: Account } {
  const taken = new Map(before.taken);
  const grantedUids = new Set(before.granted);
  const pastDisruptions = [...before.pastDisruptions];
  const running = { ...context, pastDisruptions };
  const granted: A[] = [];
  const refused: RefusedApplicant[] = [];
  const checks: number[] = [];
  for (const candidate of candidates) {
    const { uid, node, nodePool } = candidate;
    const counted = context.disrupting.has(uid) || grantedUids.has(uid);
    const why = whyRefused(candidate, reason, { counted, taken, checks, context: running });
    if (why !== undefined) {
      refused.push({ node, ...why });
      continue;
    }
    granted.push(candidate);
    grantedUids.add(uid);
    pastDisruptions.push({ nodePool, reason, at: context.now, nodes: 1 } satisfies PastDisruption);
    if (!counted) taken.set(nodePool, (taken.get(nodePool) ?? 0) + 1);
  }
  const admission = { id, granted, refused, ...(checks.length === 0 ? {} : { nextCheckAt: Math.min(...checks) }) };
  return { admission, after: { taken, granted: grantedUids, pastDisruptions } };
}

function whyRefused(
  candidate: Applicant,
  reason: DisruptionReason,
  {
    counted,
    taken,
    checks,
    context,
  }: { counted: boolean; taken: ReadonlyMap<string, number>; checks: number[]; context: AdmissionContext },
): Omit<RefusedApplicant, 'node'> | undefined {
  if (!context.present.has(candidate.uid)) return { why: 'it is gone or being removed', gone: true };
  const paused = context.paused(reason, candidate);
  if (paused !== undefined) return { why: paused, paused: true };
  // Two disruptions of one node would remove each other's taint when they are undone. An unhealthy node is admitted
  // nevertheless, because the other disruption may be undone.
  if (reason !== 'Unhealthy' && context.claimed?.has(candidate.uid) === true) {
    return { why: 'another disruption of it is running' };
  }
  const { nodePool } = candidate;
  const { total, disrupting } = context.counts.get(nodePool) ?? { total: 0, disrupting: 0 };
  // The node itself must not count against its own request.
  const others = disrupting + (taken.get(nodePool) ?? 0) - (counted ? 1 : 0);
  const limit = limitOf(context.pools.get(nodePool), reason, { total, disrupting: others }, context);
  if (limit.allowed > 0) return undefined;
  if (limit.changesAt !== undefined) checks.push(limit.changesAt);
  const rule = limit.ruledBy;
  return { why: rule === undefined ? 'all nodes of the pool are already being disrupted' : `${rule} allows no more` };
}
