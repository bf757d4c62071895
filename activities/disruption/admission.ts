import { activePauses, whyPaused } from '../../cluster/pauses.js';
import { disruptionReasons, type DisruptionReason } from '../../api/disruption-reasons.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { compareUrgency, isMoreUrgent, waitOf } from '../../cluster/disruption-wait.js';
import { managedClaims } from '../../cluster/cluster.js';
import { laggingKinds } from '../../cluster/lagging-kinds.js';
import { identityOf, labelsOf } from '../../cluster/node-labels.js';
import { pastOf, recordsOf, recordsText, type Disrupting, type PoolRecords } from '../../cluster/pool-records.js';
import { updateObject } from '../../cluster/writes.js';
import { settleAll } from '../../core/at-once.js';
import { DomainError } from '../../core/failures.js';
import { decideAdmission, type Applicant, type Application } from '../../disruption/budgets/admission.js';
import { rememberedForMs } from '../../disruption/budgets/limits.js';
import { rememberDisruptions, type PastDisruption } from '../../disruption/budgets/limits/past-disruptions.js';
import { alongsideKept } from '../../disruption/command.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import type { Kind } from '../../kube/port.js';
import type { CandidateRef, Pause, RefusedNode } from '../../workflows/messages.js';
import type { ActivityDeps } from '../deps.js';
import { disruptingUids, disruptionContext, type DisruptionContext } from '../disruption-context/disruption-context.js';
import { nameOf } from '../../core/names.js';

interface Asked {
  readonly reason: string;
  readonly candidates: readonly Pick<CandidateRef, 'claim' | 'node'>[];
  /** Id of the workflow that asks. */
  readonly owner: string;
  /** Whether either all nodes are admitted or none. */
  readonly together: boolean;
}

export interface Admission {
  /** UIDs of NodeClaims. */
  readonly admitted: ReadonlySet<string>;
  readonly refused: readonly RefusedNode[];
  /** When a refusal may change by time alone, milliseconds of the epoch. */
  readonly nextCheckAt?: number;
  /** Nodes of other disruptions that already count. */
  readonly alongside: readonly string[];
}

/** The kinds of the objects from which budgets are counted. */
const countedKinds: readonly Kind[] = ['NodePool', 'NodeClaim', 'Node'];
/**
 * The longest that the cache of these kinds may be unconfirmed, milliseconds: a watch that is silent for three seconds
 * is checked, and is started again if it lags behind.
 */
const freshWithinMs = 30_000;
/** Attempts to count and write, because other disruptions may write to the same NodePools at the same time. */
const attempts = 6;
/** A NodeClaim that was created and counted this long ago is in the caches of all processes. */
const seenByAllMs = 120_000;

/**
 * Decides which nodes a disruption may take now, by pauses, budgets, windows, rates and quotas
 * (budgets/counted-at-the-taint). Before any node is tainted, the admitted nodes are written to the NodePools by
 * compare-and-swap on the version that was counted, so that of two disruptions that count at the same time one counts
 * again. Throws `Unavailable` while the cache lags behind the API server, as it does after an outage.
 */
export async function admit(deps: ActivityDeps, asked: Asked): Promise<Admission> {
  const { reason } = asked;
  const all = new Set(asked.candidates.map(({ claim }) => claim.uid));
  if (!isDisruptionReason(reason)) return { admitted: all, refused: [], alongside: [] };
  if (reason !== 'Unhealthy') await expectFresh(deps);
  const applicants = asked.candidates.map((candidate) => applicantOf(deps, candidate));
  const names = [...new Set(applicants.map(({ nodePool }) => nodePool))].filter((name) => name !== '').sort();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const read = await settleAll(names, (name) => deps.kube.get('NodePool', { name }));
    const live = read.filter((pool) => pool !== undefined);
    const admission = await decide(deps, { ...asked, reason }, applicants, live);
    const { admitted } = admission;
    if (await record(deps, { ...asked, reason }, applicants, { live, admitted })) return admission;
  }
  throw new DomainError('Conflict', `NodePool ${names.join(', ')} changes faster than budgets can be counted`);
}

/** These nodes stay: removes their records, so that they no longer count against budgets and rates. */
export async function release(
  deps: Pick<ActivityDeps, 'kube'>,
  candidates: readonly { readonly claim: { readonly uid: string }; readonly nodePool: string }[],
  owner: string | undefined,
): Promise<void> {
  const uids = new Set(candidates.map(({ claim }) => claim.uid));
  for (const name of new Set(candidates.map(({ nodePool }) => nodePool))) {
    if (name === '') continue;
    await updateObject(deps.kube, 'NodePool', name, (pool) => {
      const { records } = recordsOf(pool);
      const disrupting = records.disrupting.filter(
        (one) => !uids.has(one.uid) || (owner !== undefined && one.owner !== owner),
      );
      return disrupting.length === records.disrupting.length ? undefined : withRecords({ ...records, disrupting });
    });
  }
}

/**
 * Throws `Conflict` if the annotation has no room for all nodes that are being disrupted: some have to be gone first.
 */
export function withRecords(records: PoolRecords): { readonly metadata: object } {
  const text = recordsText(records);
  if (text === undefined)
    throw new DomainError(
      'Conflict',
      `${records.disrupting.length} nodes of the NodePool are being disrupted, more than its annotation can record: some have to be gone first`,
    );
  return { metadata: { annotations: { [annotations.disruptionRecords]: text } } };
}

function applicantOf({ cache }: ActivityDeps, { claim, node }: Asked['candidates'][number]): Applicant {
  const known = cache.get('NodeClaim', { name: claim.name });
  return { uid: claim.uid, node, nodePool: known === undefined ? '' : labelsOf(known).nodePool };
}

async function decide(
  deps: ActivityDeps,
  { reason, owner, together }: Asked & { readonly reason: DisruptionReason },
  applicants: readonly Applicant[],
  live: readonly NodePool[],
): Promise<Admission> {
  const pauses = await activePauses(deps);
  const judged = new Set(applicants.map(({ uid }) => uid));
  const context = await disruptionContext(deps, noState, { judged, isForBudgets: true, live });
  const claims = managedClaims(deps).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const own: Application = { id: owner, reason, candidates: applicants, together };
  const admissions = decideAdmission([...moreUrgent(claims, own), own], {
    ...context,
    pastDisruptions: pastWithout(context, live, judged),
    present: new Set(claims.map(({ metadata }) => metadata.uid ?? '')),
    claimed: takenByOthers(live, owner),
    disrupting: disruptingUids(context, judged),
    paused: (why, node) => whyPaused(pauses, why, node),
  });
  const { granted, refused, nextCheckAt } = admissions.at(-1)!;
  const isPaused = refused.some(({ paused }) => paused === true);
  const checks = [...(nextCheckAt === undefined ? [] : [nextCheckAt]), ...(isPaused ? endsOf(pauses) : [])];
  return {
    admitted: new Set(granted.map(({ uid }) => uid)),
    refused: refused.map(({ node, why, paused, gone }) => ({
      ...{ node, why },
      for: paused === true ? 'Pause' : gone === true ? 'Gone' : 'Budget',
    })),
    ...(checks.length === 0 ? {} : { nextCheckAt: Math.min(...checks) }),
    alongside: context.disrupting.slice(-alongsideKept),
  };
}

const noState = { commands: [] } as const;

const endsOf = (pauses: readonly Pause[]): readonly number[] =>
  pauses.flatMap(({ until }) => (until === undefined ? [] : [until]));

/** Past disruptions of all NodePools, without those of these nodes, which would count twice. */
function pastWithout(
  { pastDisruptions }: DisruptionContext,
  live: readonly NodePool[],
  judged: ReadonlySet<string>,
): readonly PastDisruption[] {
  const names = new Set(live.map(({ metadata }) => metadata.name));
  const own = live.flatMap((pool) => pastOf(nameOf(pool), recordsOf(pool).records, judged));
  return [...pastDisruptions.filter(({ nodePool }) => !names.has(nodePool)), ...own];
}

const takenByOthers = (live: readonly NodePool[], owner: string): ReadonlySet<string> =>
  new Set(
    live.flatMap((pool) => recordsOf(pool).records.disrupting.flatMap((one) => (one.owner === owner ? [] : [one.uid]))),
  );

/**
 * More urgent disruptions that wait for the budgets of the same NodePools: they are admitted first, as far as they are
 * allowed (budgets/urgent-first).
 */
function moreUrgent(claims: readonly NodeClaim[], own: Application): readonly Application[] {
  const names = new Set(own.candidates.map(({ nodePool }) => nodePool));
  return claims
    .flatMap((claim) => {
      const wait = waitOf(claim);
      const { nodePool } = labelsOf(claim);
      if (wait?.for !== 'Budget' || wait.workflow === own.id || !names.has(nodePool)) return [];
      if (!isMoreUrgent(wait.reason, own.reason)) return [];
      const { name, uid } = identityOf(claim);
      return [{ wait, candidate: { uid, node: claim.status?.nodeName ?? name, nodePool } }];
    })
    .sort((a, b) => compareUrgency(a.wait, b.wait))
    .map(({ wait, candidate }) => ({ id: wait.workflow, reason: wait.reason, candidates: [candidate] }));
}

/**
 * Writes to the NodePools which of these nodes are being disrupted from now on. Returns false if a NodePool has changed
 * since it was read: until the next attempt, records that are already written then count more than is admitted.
 */
async function record(
  deps: ActivityDeps,
  { reason, owner }: Asked & { readonly reason: DisruptionReason },
  applicants: readonly Applicant[],
  { live, admitted }: { readonly live: readonly NodePool[]; readonly admitted: ReadonlySet<string> },
): Promise<boolean> {
  for (const pool of live) {
    const { name = '', uid, resourceVersion } = pool.metadata;
    const { records } = recordsOf(pool);
    const own = applicants.filter(({ nodePool }) => nodePool === name);
    const isTaken = (one: Disrupting): boolean =>
      own.some((each) => each.uid === one.uid) && (one.owner === owner || admitted.has(one.uid));
    const begun = own
      .filter((each) => admitted.has(each.uid))
      .map((each) => {
        const before = records.disrupting.find((one) => one.uid === each.uid && one.owner === owner);
        return before ?? { uid: each.uid, owner, reason, at: deps.now() };
      });
    const others = records.disrupting.filter((one) => !isTaken(one));
    if (begun.length === 0 && others.length === records.disrupting.length) continue;
    const next = withoutGone(deps, pool, { ...records, disrupting: [...others, ...begun] });
    const { metadata } = withRecords(next);
    const patch = { metadata: { ...metadata, uid, resourceVersion } };
    if ((await deps.kube.patch('NodePool', { name }, patch)).outcome === 'conflict') return false;
  }
  return true;
}

/** Moves nodes that are gone to the past disruptions, which are kept as long as a rate or quota counts them. */
function withoutGone({ cache, now }: ActivityDeps, pool: NodePool, records: PoolRecords): PoolRecords {
  const { name: nodePool = '' } = pool.metadata;
  const there = new Set(cache.all('NodeClaim').map(({ metadata }) => metadata.uid));
  const isGone = ({ uid, at }: Disrupting): boolean => !there.has(uid) && at < now() - seenByAllMs;
  const gone = records.disrupting.filter(isGone).map(({ reason, at }) => ({ reason, at, nodes: 1, nodePool }));
  const past = [...records.past.map((each) => ({ ...each, nodePool })), ...gone];
  const kept = rememberDisruptions(
    past,
    rememberedForMs(effectivePolicyOf(pool, cache.all('DisruptionPolicy'))),
    now(),
  );
  return {
    ...records,
    disrupting: records.disrupting.filter((one) => !isGone(one)),
    past: kept.map(({ reason, at, nodes }) => ({ reason, at, nodes })),
    refused: records.refused.filter(({ until }) => until > now()),
  };
}

function isDisruptionReason(reason: string): reason is DisruptionReason {
  return disruptionReasons.some((one) => one === reason);
}

async function expectFresh({ cache, now }: ActivityDeps): Promise<void> {
  const behind = cache.synced ? await laggingKinds(cache, countedKinds, now() - freshWithinMs) : countedKinds;
  if (behind.length === 0) return;
  const kinds = behind.join(', ');
  throw new DomainError('Unavailable', `the cache lags behind the API server: ${kinds}. Budgets cannot be counted.`);
}
