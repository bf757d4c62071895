import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import type { Pod, PodDisruptionBudget } from '../../../api/kubernetes.js';
import { annotations, instanceTags, labels } from '../../../api/labels.js';
import { conditionOf, isTrue } from '../../../core/conditions.js';
import { selectorMatches } from '../selectors.js';
import { allowedDisruptions } from './budgets.js';
import type { BudgetReason } from '../../../api/disruption-reasons.js';

/** An instance as EC2 has it. */
export interface AuditedInstance {
  readonly id: string;
  readonly state: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** A request that the API server answered, from its audit log. */
export interface AuditedRequest {
  /** Whether Stowage sent it. */
  readonly byStowage: boolean;
  readonly verb: 'evict' | 'delete';
  readonly kind: 'Pod' | 'Node' | 'NodeClaim';
  readonly namespace?: string;
  readonly name: string;
  readonly succeeded: boolean;
  /** Milliseconds of the epoch, by the API server. */
  readonly at: number;
}

interface SeenClaim {
  readonly claim: NodeClaim;
  /** When it was seen to be gone, milliseconds of the epoch. */
  readonly goneAt?: number;
}

interface Count {
  readonly at: number;
  readonly nodes: number;
}

/** For how long nodes that have gone count: a command is decided before its nodes are marked. */
const countedMs = 10 * 60_000;
/** An instance whose claim is gone is collected within this. */
const orphanMs = 5 * 60_000;
/** A deadline is written in whole seconds. */
const secondMs = 1000;

const byChoice: ReadonlySet<string | undefined> = new Set<BudgetReason>(['Underutilized', 'Empty', 'Drifted']);

const uidOf = ({ metadata }: NodeClaim): string => metadata.uid ?? '';
const poolOf = ({ metadata }: NodeClaim): string => metadata.labels?.[labels.nodePool] ?? '';
const podKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;
const isThere = ({ state }: AuditedInstance): boolean => state === 'pending' || state === 'running';

/**
 * Holds a cluster to docs/behaviour/invariants.md by what Kubernetes and EC2 show, for as long as anything happens there. It is
 * called with every observation, in order, and shares no code with what decides.
 */
export class Judge {
  readonly problems: string[] = [];
  private readonly claims = new Map<string, SeenClaim>();
  private readonly pools = new Map<string, NodePool>();
  private readonly pods = new Map<string, Pod>();
  private readonly budgets = new Map<string, PodDisruptionBudget>();
  private readonly counts = new Map<string, Count[]>();
  private readonly launched = new Map<string, Set<string>>();

  pool(pool: NodePool): void {
    this.pools.set(pool.metadata.name ?? '', pool);
  }

  /** Also one that is gone: what is asked of it comes later. */
  pod(pod: Pod): void {
    this.pods.set(podKey(pod.metadata.namespace, pod.metadata.name ?? ''), pod);
  }

  podDisruptionBudget(budget: PodDisruptionBudget, isGone: boolean): void {
    const key = podKey(budget.metadata.namespace, budget.metadata.name ?? '');
    if (isGone) this.budgets.delete(key);
    else this.budgets.set(key, budget);
  }

  claim(claim: NodeClaim, isGone: boolean, now: number): void {
    const before = this.claims.get(uidOf(claim))?.claim;
    this.claims.set(uidOf(claim), isGone ? { claim, goneAt: now } : { claim });
    this.count(poolOf(claim), now);
    const reason = isGone ? undefined : choiceOf(claim);
    if (reason === undefined || (before !== undefined && choiceOf(before) !== undefined)) return;
    this.expectWithinBudget(poolOf(claim), reason, now);
  }

  /** What EC2 has now; asked for at `askedAt`, milliseconds of the epoch. */
  instances(instances: readonly AuditedInstance[], askedAt: number): void {
    for (const instance of instances) {
      const uid = instance.tags[instanceTags.nodeClaimUid];
      if (uid === undefined) continue;
      this.expectOne(uid, instance.id);
      const seen = this.claims.get(uid);
      if (isThere(instance) && seen?.goneAt !== undefined)
        this.expectGone(instance.id, seen.claim, askedAt - seen.goneAt);
    }
  }

  request({ byStowage, verb, kind, namespace, name, succeeded, at }: AuditedRequest): void {
    if (!byStowage || !succeeded || kind !== 'Pod') return;
    const pod = this.pods.get(podKey(namespace, name));
    if (pod === undefined) return;
    const why = verb === 'evict' ? this.forbidsDisruption(pod) : (this.forbidsDisruption(pod) ?? this.budgetOf(pod));
    if (why === undefined || at >= this.deadlineOf(pod)) return;
    const done = verb === 'evict' ? 'evicted' : 'deleted';
    this.broken(`pod ${podKey(namespace, name)} was ${done} in spite of ${why} (invariants/protection-holds)`);
  }

  /** UIDs of claims that were there and are gone. */
  get goneClaims(): readonly string[] {
    return [...this.claims].flatMap(([uid, { goneAt }]) => (goneAt === undefined ? [] : [uid]));
  }

  broken(what: string): void {
    if (!this.problems.includes(what)) this.problems.push(what);
  }

  private expectOne(uid: string, id: string): void {
    const ids = this.launched.get(uid) ?? new Set();
    this.launched.set(uid, ids.add(id));
    if (ids.size > 1) this.broken(`NodeClaim ${uid} got instances ${[...ids].join(', ')} (invariants/one-instance)`);
  }

  private expectGone(id: string, claim: NodeClaim, afterMs: number): void {
    if (afterMs <= 0) return;
    const name = claim.metadata.name ?? '';
    if (claim.status?.providerID?.endsWith(`/${id}`) === true) {
      this.broken(`NodeClaim ${name} was removed while its instance ${id} runs (invariants/no-orphans)`);
    } else if (afterMs > orphanMs) {
      this.broken(`instance ${id} outlives NodeClaim ${name} (invariants/no-orphans)`);
    }
  }

  private own(pool: string): NodeClaim[] {
    return [...this.claims.values()].flatMap(({ claim, goneAt }) =>
      goneAt === undefined && poolOf(claim) === pool ? [claim] : [],
    );
  }

  private count(pool: string, now: number): void {
    const kept = (this.counts.get(pool) ?? []).filter(({ at }) => now - at <= countedMs);
    this.counts.set(pool, [...kept, { at: now, nodes: this.own(pool).length }]);
  }

  /** One more node goes for this reason. */
  private expectWithinBudget(pool: string, reason: BudgetReason, now: number): void {
    const nodes = Math.max(...(this.counts.get(pool) ?? []).map((count) => count.nodes));
    const disrupted = this.own(pool).filter((claim) => choiceOf(claim) !== undefined).length;
    const allowed = allowedDisruptions(this.pools.get(pool), reason, nodes, now);
    if (disrupted <= allowed) return;
    this.broken(
      `NodePool ${pool}: ${disrupted} of ${nodes} nodes are disrupted where ${allowed} are allowed for ${reason} (invariants/budgets-hold)`,
    );
  }

  private forbidsDisruption({ metadata }: Pod): string | undefined {
    return metadata.annotations?.[annotations.doNotDisrupt] === 'true' ? annotations.doNotDisrupt : undefined;
  }

  private budgetOf({ metadata }: Pod): string | undefined {
    const budget = [...this.budgets.values()].find(
      (each) =>
        each.metadata.namespace === metadata.namespace && selectorMatches(each.spec.selector, metadata.labels ?? {}),
    );
    return budget === undefined ? undefined : `PodDisruptionBudget ${budget.metadata.name ?? ''}`;
  }

  /** From when on a protected pod may be deleted, milliseconds of the epoch. */
  private deadlineOf({ spec }: Pod): number {
    const of = [...this.claims.values()].find(({ claim }) => claim.status?.nodeName === spec.nodeName)?.claim;
    const written = of?.metadata.annotations?.[annotations.terminationTimestamp];
    if (written === undefined) return Number.POSITIVE_INFINITY;
    return Date.parse(written) - (spec.terminationGracePeriodSeconds ?? 30) * 1000 - secondMs;
  }
}

/** The voluntary reason for which a node is disrupted. One whose instance is being terminated counts no more (budgets/counted-nodes). */
function choiceOf({ status }: NodeClaim): BudgetReason | undefined {
  if (isTrue(status?.conditions, 'InstanceTerminating') || !isTrue(status?.conditions, 'DisruptionReason'))
    return undefined;
  const reason = conditionOf(status?.conditions, 'DisruptionReason')?.reason;
  return byChoice.has(reason) ? (reason as BudgetReason) : undefined;
}
