import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { DisruptionPause } from '../../../api/stowage/disruption-pause.js';
import { labels } from '../../../api/labels.js';
import { reasonOf } from './by-choice.js';

/** A pause is heard within this, milliseconds; calls take their time. */
const heardMs = 3000;

/** Whether a NodeClaim was deleted although a pause that everybody has heard of was about it, and not over then (invariants/pauses-hold). */
export function isDeletedInSpiteOf({ metadata, spec }: DisruptionPause, claim: NodeClaim): boolean {
  // A cluster that is restored shows deletions of before a second time.
  const deletedAt = Date.parse(claim.metadata.deletionTimestamp ?? '');
  if (deletedAt - Date.parse(metadata.creationTimestamp ?? '') < heardMs) return false;
  if (spec.until !== undefined && Date.parse(spec.until) <= deletedAt) return false;
  const { kind, name, reason = reasonOf(claim) } = spec.scope;
  switch (kind) {
    case 'Cluster':
      return true;
    case 'NodePool':
      return claim.metadata.labels?.[labels.nodePool] === name && reason === reasonOf(claim);
    case 'Node':
      return claim.status?.nodeName === name;
    case 'Reason':
      return reasonOf(claim) === name;
  }
}
