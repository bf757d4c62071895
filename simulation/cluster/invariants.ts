import { taints } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { SimulatedCluster } from './world.js';

/** An instance without a claim is collected within this, milliseconds. */
const orphanMs = 10 * 60_000;

/** Holds a simulated cluster to the promises of docs/behaviour/invariants.md, by what the cluster and the cloud show alone. */
export class Invariants {
  readonly problems: string[] = [];

  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly temporal: SimulatedTemporal,
  ) {}

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

  private broken(what: string): void {
    if (this.problems.length < 20) this.problems.push(what);
  }
}
