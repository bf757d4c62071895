import { finalizers } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { workflowIds } from '../../../core/ids.js';
import { clusterName } from './process.js';

/** For so long after a loss of data the reason for which a node is gone may be missing, milliseconds. */
const lossMs = 30 * 60_000;

/** Holds that every NodeClaim which had an instance and is removed has a workflow that says why (invariants/reasons-are-recorded). */
export class ReasonWatch {
  private lossesUntil = 0;
  /** UIDs of NodeClaims that another client removed. */
  private readonly excused = new Set<string>();
  /** UIDs of NodeClaims whose finalizer Stowage removed: other finalizers may hold them until the reason is lost. */
  private readonly released = new Set<string>();

  constructor(
    private readonly hasWorkflow: (workflowId: string) => boolean,
    private readonly broken: (problem: string) => void,
  ) {}

  /** Temporal or the API server has lost data: for some time reasons may be missing. */
  forget(): void {
    this.lossesUntil = Date.now() + lossMs;
  }

  /** Another client removes a NodeClaim: no reason is required. */
  excuse(uid: string): void {
    this.excused.add(uid);
  }

  /** A NodeClaim has changed, or is gone. */
  note(claim: NodeClaim, isGone: boolean): void {
    const uid = claim.metadata.uid ?? '';
    if (!(isGone || isLetGo(claim)) || this.released.has(uid)) return;
    this.released.add(uid);
    if ((claim.status?.providerID ?? '') === '' || Date.now() < this.lossesUntil || this.excused.has(uid)) return;
    if (this.hasWorkflow(workflowIds.terminate(clusterName, uid))) return;
    this.broken(`nothing says why NodeClaim ${claim.metadata.name ?? ''} is gone (invariants/reasons-are-recorded)`);
  }
}

/** Whether a NodeClaim is being deleted, and Stowage no longer holds it. */
const isLetGo = ({ metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp !== undefined && !(metadata.finalizers ?? []).includes(finalizers.termination);
