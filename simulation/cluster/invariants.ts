import { labels, taints } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { budgetReasons } from '../../api/karpenter/node-pool.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { SimulatedCluster } from './world.js';

/** An instance without a claim is collected within this, milliseconds. */
const orphanMs = 10 * 60_000;

/** The budget of the simulation's NodePools: so much of their nodes may be disrupted at once. */
export const budgetPercent = 20;
/** For how long nodes that have gone count, milliseconds. */
const countedMs = 10 * 60_000;

/** A pause is heard within this, milliseconds; calls take their time. */
const pauseMs = 3000;

/** Holds a simulated cluster to docs/behaviour/invariants.md, by what the cluster and the cloud show alone. */
export class Invariants {
  readonly problems: string[] = [];
  private readonly counts: { readonly pool: string; readonly at: number; readonly nodes: number }[] = [];

  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly temporal: SimulatedTemporal,
  ) {
    cluster.cache.on('NodeClaim', ({ object, previous }) => {
      this.count(object.metadata.labels?.[labels.nodePool] ?? '');
      if (isDisruptedByChoice(object) && (previous === undefined || !isDisruptedByChoice(previous))) {
        this.expectWithinBudget(object.metadata.labels?.[labels.nodePool] ?? '');
      }
      if (
        isDisruptedByChoice(object) &&
        isBeingDeleted(object) &&
        (previous === undefined || !isBeingDeleted(previous))
      )
        this.expectNoPause(object.metadata.name ?? '');
    });
  }

  get isBroken(): boolean {
    return this.problems.length > 0;
  }

  /** After every event. Gives whether anything is broken. */
  check(): boolean {
    for (const [uid, count] of this.cluster.cloud.launchesByClaimUid) {
      if (count > 1) this.broken(`NodeClaim ${uid} got ${count} instances (invariants/one-instance)`);
    }
    return this.isBroken || this.temporal.problems.length > 0;
  }

  /** Whether every pod runs, and nothing is tainted or half done. */
  expectRest(): boolean {
    this.expectPodsRun();
    this.expectNodesAtRest();
    this.expectClaimsAtRest();
    this.expectNoOrphans();
    this.expectReplicas();
    return !this.isBroken;
  }

  /** Nodes and claims that there are, as a text. */
  fingerprint(): string {
    const { kube } = this.cluster;
    const names = (kind: 'Node' | 'NodeClaim'): string[] =>
      kube.objects(kind).map(({ metadata }) => metadata.name ?? '');
    return JSON.stringify([names('Node'), names('NodeClaim')]);
  }

  expectUnchanged(before: string): void {
    const after = this.fingerprint();
    if (after !== before)
      this.broken(`the cluster still changes: ${before} became ${after} (invariants/eventually-stable)`);
  }

  private expectPodsRun(): void {
    for (const { metadata, status } of this.cluster.kube.objects('Pod')) {
      if (status?.phase !== 'Running') this.broken(`pod ${metadata.name ?? ''} does not run: ${status?.phase ?? ''}`);
    }
  }

  private expectNodesAtRest(): void {
    for (const { metadata, spec } of this.cluster.kube.objects('Node')) {
      const name = metadata.name ?? '';
      if (metadata.deletionTimestamp !== undefined) this.broken(`node ${name} is still being deleted`);
      const isTainted = (spec?.taints ?? []).some(({ key }) => key === taints.disrupted.key);
      if (isTainted) this.broken(`node ${name} is still tainted`);
    }
  }

  private expectClaimsAtRest(): void {
    for (const { metadata, status } of this.cluster.kube.objects('NodeClaim')) {
      const name = metadata.name ?? '';
      if (metadata.deletionTimestamp !== undefined) this.broken(`NodeClaim ${name} is still being deleted`);
      else if (!isTrue(status?.conditions, 'Initialized')) this.broken(`NodeClaim ${name} is not initialized`);
    }
  }

  private expectNoOrphans(): void {
    const claimed = new Set(this.cluster.kube.objects('NodeClaim').map(({ status }) => status?.providerID ?? ''));
    for (const { providerId, launchedAt } of this.cluster.cloud.peek()) {
      if (claimed.has(providerId) || Date.now() - launchedAt < orphanMs) continue;
      this.broken(`instance ${providerId} belongs to no NodeClaim (invariants/no-orphans)`);
    }
  }

  private ownOf(pool: string): readonly NodeClaim[] {
    return this.cluster.cache.all('NodeClaim').filter(({ metadata }) => metadata.labels?.[labels.nodePool] === pool);
  }

  private count(pool: string): void {
    const at = Date.now();
    this.counts.push({ pool, at, nodes: this.ownOf(pool).length });
    while (at - this.counts[0]!.at > countedMs) this.counts.shift();
  }

  /** A command is decided before its nodes are marked: nodes that were there shortly before count too. */
  private expectWithinBudget(pool: string): void {
    const nodes = Math.max(...this.counts.map((count) => (count.pool === pool ? count.nodes : 0)));
    const disrupted = this.ownOf(pool).filter(isDisruptedByChoice).length;
    const allowed = Math.ceil((nodes * budgetPercent) / 100);
    if (disrupted <= allowed) return;
    this.broken(
      `NodePool ${pool}: ${disrupted} of ${nodes} nodes are disrupted, ${allowed} allowed (invariants/budgets-hold)`,
    );
  }

  /** A taint can be taken back; the deletion of a NodeClaim cannot. */
  private expectNoPause(claim: string): void {
    for (const { metadata } of this.cluster.kube.objects('DisruptionPause')) {
      if (Date.now() - Date.parse(metadata.creationTimestamp ?? '') < pauseMs) continue;
      this.broken(`NodeClaim ${claim} is deleted in spite of a pause (invariants/pauses-hold)`);
    }
  }

  private expectReplicas(): void {
    const { kube } = this.cluster;
    for (const { metadata, spec } of kube.objects('NodePool')) {
      if (spec.replicas === undefined) continue;
      const own = kube
        .objects('NodeClaim')
        .filter((claim) => claim.metadata.labels?.[labels.nodePool] === metadata.name);
      if (own.length === spec.replicas) continue;
      this.broken(`NodePool ${metadata.name ?? ''} has ${own.length} NodeClaims instead of ${spec.replicas}`);
    }
  }

  broken(what: string): void {
    if (this.problems.length < 20) this.problems.push(what);
  }
}

const voluntary: ReadonlySet<string | undefined> = new Set<string>(budgetReasons);

const isBeingDeleted = ({ metadata }: NodeClaim): boolean => metadata.deletionTimestamp !== undefined;

/** One whose instance is being terminated counts no more (budgets/counted-nodes). */
const isDisruptedByChoice = ({ status }: NodeClaim): boolean =>
  !isTrue(status?.conditions, 'InstanceTerminating') &&
  isTrue(status?.conditions, 'DisruptionReason') &&
  voluntary.has(conditionOf(status?.conditions, 'DisruptionReason')?.reason);
