import { annotations, labels, taints } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Pod } from '../../../api/kubernetes.js';
import { isTrue } from '../../../core/conditions.js';
import { BacklogWatch } from './backlog-watch.js';
import { BudgetWatch } from './budget-watch.js';
import { dispensable } from './consolidated.js';
import { leftovers } from './leftovers.js';
import { QuietWatch } from './quiet-watch.js';
import { ReasonWatch } from './reason-watch.js';
import { RulesWatch } from './rules-watch.js';
import { isDisruptedByChoice } from './by-choice.js';
import { isDeletedInSpiteOf } from './pause-watch.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { SimulatedCluster } from './world.js';

/** An instance without a claim is collected within this, milliseconds. */
const orphanMs = 10 * 60_000;

/** Watches that lag, or are dead until that is found out, hear of everything within this, milliseconds. */
const lagMs = 30 * 60_000;

/** Holds a simulated cluster to docs/behaviour/invariants.md, by what the cluster and the cloud show alone. */
export class Invariants {
  readonly problems: string[] = [];
  readonly budgets: BudgetWatch;
  readonly rules: RulesWatch;
  readonly reasons: ReasonWatch;
  readonly quiet = new QuietWatch((problem) => this.broken(problem));
  /** Since when a pod has been protected, by its UID, milliseconds of the epoch. */
  private readonly protectedAt = new Map<string, number>();
  /** When a NodeClaim was first deleted, by its UID, milliseconds of the epoch. */
  private readonly deletedAt = new Map<string, number>();
  /** NodeClaims that were being deleted, by the names of their nodes, as they were last. */
  private readonly lastClaims = new Map<string, NodeClaim>();
  /** Instances, by provider id, of which the queue has said that a status check failed. */
  readonly failedChecks = new Set<string>();
  /** NodeClaims that Stowage has deleted, by their names; people may delete others in spite of a pause. */
  private readonly ownDeletions = new Set<string>();
  private known: { readonly version: string; readonly dispensable: readonly string[] } | undefined;
  /** How many launches there had been at the last check. */
  private launchesChecked = 0;

  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly temporal: SimulatedTemporal,
    /** Hears at once of what is broken. */
    private readonly say: (line: string) => void = () => undefined,
    /** How long a pod waits before everybody must have heard of it; as of a run with faults when absent. */
    heardMs?: number,
  ) {
    this.budgets = new BudgetWatch(cluster, (problem) => this.broken(problem));
    new BacklogWatch(cluster, (problem) => this.broken(problem), heardMs);
    this.rules = new RulesWatch(cluster, (problem) => this.broken(problem));
    this.reasons = new ReasonWatch(
      (workflowId) => temporal.find(workflowId) !== undefined,
      (problem) => this.broken(problem),
    );
    cluster.cache.on('Pod', ({ type, object }) => this.noteProtection(type === 'deleted', object));
    cluster.cache.on('NodeClaim', ({ type, object, previous }) => {
      const isMarked = isBeingDeleted(object) && (previous === undefined || !isBeingDeleted(previous));
      if (isMarked) this.noteDeletion(object);
      if (isBeingDeleted(object)) this.lastClaims.set(object.status?.nodeName ?? '', object);
      const isOwn = this.ownDeletions.has(object.metadata.name ?? '');
      if (isDisruptedByChoice(object) && isMarked && isOwn) this.expectNoPause(object);
      this.reasons.note(object, type === 'deleted');
    });
    temporal.onAttemptFailed = (what) => this.quiet.noteFailure(what);
    temporal.onFailed = (workflowId, why) => this.expectExpected(workflowId, why);
  }

  noteOwnDeletion(claimName: string): void {
    this.ownDeletions.add(claimName);
  }

  firstDeletedAt({ metadata }: NodeClaim): number | undefined {
    return this.deletedAt.get(metadata.uid ?? '');
  }

  /** Whether a pod has been protected for so long that every watch has seen it. */
  isKnownProtected({ metadata }: Pod): boolean {
    return Date.now() - (this.protectedAt.get(metadata.uid ?? '') ?? Date.now()) >= lagMs;
  }

  get isBroken(): boolean {
    return this.problems.length > 0;
  }

  /** After every event. Gives whether anything is broken. */
  check(): boolean {
    const { launches, launchesByClaimUid } = this.cluster.cloud;
    if (launches !== this.launchesChecked) {
      for (const [uid, count] of launchesByClaimUid) {
        if (count > 1) this.broken(`NodeClaim ${uid} got ${count} instances (invariants/one-instance)`);
      }
      this.launchesChecked = launches;
    }
    return this.isBroken || this.temporal.problems.length > 0;
  }

  /** Holds that every pod runs, and that nothing is tainted or half done. */
  expectRest(): void {
    for (const problem of this.unrest()) this.broken(problem);
  }

  /** What is not at rest: pods that do not run, tainted nodes, and unfinished work. */
  unrest(): readonly string[] {
    return [
      ...this.podsAtUnrest(),
      ...this.nodesAtUnrest(),
      ...this.claimsAtUnrest(),
      ...this.orphans(),
      ...this.mislabelled(),
      ...this.replicasAtUnrest(),
      ...leftovers(this.cluster.kube, this.temporal),
      ...this.dispensable(),
    ];
  }

  /** Worked out once for each state of the API server, which alone decides it. */
  private dispensable(): readonly string[] {
    const { kube } = this.cluster;
    const version = kube.version();
    if (this.known?.version !== version) this.known = { version, dispensable: [...dispensable(kube, 'default')] };
    return this.known.dispensable;
  }

  /** Nodes and claims that there are, as a text. */
  fingerprint(): string {
    const { kube } = this.cluster;
    const names = (kind: 'Node' | 'NodeClaim'): string[] => kube.kept(kind).map(({ metadata }) => metadata.name ?? '');
    return JSON.stringify([names('Node'), names('NodeClaim')]);
  }

  expectUnchanged(before: string): void {
    const after = this.fingerprint();
    if (after !== before)
      this.broken(`the cluster still changes: ${before} became ${after} (invariants/eventually-stable)`);
  }

  private *podsAtUnrest(): Iterable<string> {
    for (const { metadata, status } of this.cluster.kube.kept('Pod')) {
      if (metadata.deletionTimestamp !== undefined) yield `pod ${metadata.name ?? ''} still ends`;
      if (status?.phase !== 'Running') yield `pod ${metadata.name ?? ''} does not run: ${status?.phase ?? ''}`;
    }
  }

  private *nodesAtUnrest(): Iterable<string> {
    for (const { metadata, spec } of this.cluster.kube.kept('Node')) {
      const name = metadata.name ?? '';
      if (metadata.deletionTimestamp !== undefined) yield `node ${name} is still being deleted`;
      const isTainted = (spec?.taints ?? []).some(({ key }) => key === taints.disrupted.key);
      if (isTainted) yield `node ${name} is still tainted`;
    }
  }

  private *claimsAtUnrest(): Iterable<string> {
    for (const { metadata, status } of this.cluster.kube.kept('NodeClaim')) {
      const name = metadata.name ?? '';
      if (metadata.deletionTimestamp !== undefined) yield `NodeClaim ${name} is still being deleted`;
      else if (!isTrue(status?.conditions, 'Initialized')) yield `NodeClaim ${name} is not initialized`;
    }
  }

  private *orphans(): Iterable<string> {
    const claimed = new Set(this.cluster.kube.kept('NodeClaim').map(({ status }) => status?.providerID ?? ''));
    for (const { providerId, launchedAt } of this.cluster.cloud.peek()) {
      if (claimed.has(providerId) || Date.now() - launchedAt < orphanMs) continue;
      yield `instance ${providerId} belongs to no NodeClaim (invariants/no-orphans)`;
    }
  }

  /** Claims and nodes of instances that run under another capacity type than their labels say. */
  private *mislabelled(): Iterable<string> {
    const { kube, cloud } = this.cluster;
    const capacityTypes = new Map(cloud.peek().map(({ providerId, capacityType }) => [providerId, capacityType]));
    const isWrong = (own: Readonly<Record<string, string>> | undefined, providerId: string | undefined): boolean =>
      capacityTypes.has(providerId ?? '') && own?.[labels.capacityType] !== capacityTypes.get(providerId ?? '');
    for (const { metadata, status } of kube.kept('NodeClaim'))
      if (isWrong(metadata.labels, status?.providerID))
        yield `NodeClaim ${metadata.name ?? ''} has the label of another capacity type`;
    for (const { metadata, spec } of kube.kept('Node'))
      if (isWrong(metadata.labels, spec?.providerID))
        yield `node ${metadata.name ?? ''} has the label of another capacity type`;
  }

  private noteProtection(isGone: boolean, { metadata }: Pod): void {
    const uid = metadata.uid ?? '';
    if (isGone || metadata.annotations?.[annotations.doNotDisrupt] !== 'true') this.protectedAt.delete(uid);
    else if (!this.protectedAt.has(uid)) this.protectedAt.set(uid, bornProtected(metadata) ? 0 : Date.now());
  }

  lastClaimOf(nodeName: string): NodeClaim | undefined {
    return this.lastClaims.get(nodeName);
  }

  private noteDeletion({ metadata }: NodeClaim): void {
    const uid = metadata.uid ?? '';
    if (!this.deletedAt.has(uid)) this.deletedAt.set(uid, Date.parse(metadata.deletionTimestamp ?? ''));
  }

  /** No workflow fails, on any signal and after the failure of any other. */
  private expectExpected(workflowId: string, why: string): void {
    this.broken(`workflow ${workflowId} failed: ${why} (invariants/failures-are-contained)`);
  }

  /** A taint can be taken back; the deletion of a NodeClaim cannot. One whose instance is gone is no disruption any more. */
  private expectNoPause(claim: NodeClaim): void {
    const { kube, cloud } = this.cluster;
    const providerId = claim.status?.providerID;
    if (!cloud.peek().some((one) => one.providerId === providerId && one.state === 'running')) return;
    if (kube.kept('DisruptionPause').some((pause) => isDeletedInSpiteOf(pause, claim)))
      this.broken(`NodeClaim ${claim.metadata.name ?? ''} is deleted in spite of a pause (invariants/pauses-hold)`);
  }

  private *replicasAtUnrest(): Iterable<string> {
    const { kube } = this.cluster;
    for (const { metadata, spec } of kube.kept('NodePool')) {
      if (spec.replicas === undefined) continue;
      const own = kube.kept('NodeClaim').filter((claim) => claim.metadata.labels?.[labels.nodePool] === metadata.name);
      if (own.length === spec.replicas) continue;
      yield `NodePool ${metadata.name ?? ''} has ${own.length} NodeClaims instead of ${spec.replicas}`;
    }
  }

  broken(what: string): void {
    if (this.problems.length >= 20) return;
    this.problems.push(what);
    this.say(what);
  }
}

/** Pods of a workload that is protected are from their first moment on. */
const bornProtected = ({ labels: own }: Pod['metadata']): boolean => own?.['app'] === 'protected';

const isBeingDeleted = ({ metadata }: NodeClaim): boolean => metadata.deletionTimestamp !== undefined;
