import { finalizers } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { workflowIds } from '../../../core/ids.js';
import { clusterName } from './process.js';

/** For so long after a loss nobody need know why a node is gone, milliseconds. */
const lossMs = 30 * 60_000;

/** Holds that every NodeClaim which had an instance and is let go has a workflow that says why (invariants/reasons-are-recorded). */
export class ReasonWatch {
  private lossesUntil = 0;
  /** NodeClaims, by their UIDs, that somebody let go past Stowage. */
  private readonly excused = new Set<string>();
  /** NodeClaims, by their UIDs, that Stowage has let go: others' finalizers may hold them until the reason is lost. */
  private readonly letGo = new Set<string>();

  constructor(
    private readonly hasWorkflow: (workflowId: string) => boolean,
    private readonly broken: (problem: string) => void,
  ) {}

  /** Temporal has lost what it knew, or the cluster what it was told: for some time reasons may be missing. */
  forget(): void {
    this.lossesUntil = Date.now() + lossMs;
  }

  /** Somebody lets a NodeClaim go past Stowage, which need not say why. */
  excuse(uid: string): void {
    this.excused.add(uid);
  }

  /** A NodeClaim has changed, or is gone. */
  note(claim: NodeClaim, isGone: boolean): void {
    const uid = claim.metadata.uid ?? '';
    if (!(isGone || isLetGo(claim)) || this.letGo.has(uid)) return;
    this.letGo.add(uid);
    if ((claim.status?.providerID ?? '') === '' || Date.now() < this.lossesUntil || this.excused.has(uid)) return;
    if (this.hasWorkflow(workflowIds.terminate(clusterName, uid))) return;
    this.broken(`nothing says why NodeClaim ${claim.metadata.name ?? ''} is gone (invariants/reasons-are-recorded)`);
  }
}

/** Whether a NodeClaim is being deleted, and Stowage no longer holds it. */
const isLetGo = ({ metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(finalizers.termination);
