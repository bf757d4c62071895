import type { Node, Pod } from '../../api/kubernetes.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { taints } from '../../api/labels.js';
import { withoutTaint } from '../../core/taints.js';
import type { ClusterCache, Kind } from '../../kube/port.js';

/** Kinds for which a change of any field matters to consolidation. */
const always: readonly Kind[] = [
  'NodePool',
  'DaemonSet',
  'PodDisruptionBudget',
  'PersistentVolumeClaim',
  'NodeOverlay',
  'CapacityBuffer',
  'DisruptionPolicy',
];

/**
 * Counts changes of the cluster that may change the result of a search for consolidation
 * (consolidation/when-it-searches).
 */
export class ClusterChanges {
  private changes = 0;

  constructor(cache: Pick<ClusterCache, 'on' | 'kinds'>) {
    cache.on('Pod', ({ object, previous }) => this.note(previous === undefined || ofPod(object) !== ofPod(previous)));
    cache.on('Node', ({ object, previous }) =>
      this.note(previous === undefined || ofNode(object) !== ofNode(previous)),
    );
    cache.on('NodeClaim', ({ object, previous }) =>
      this.note(previous === undefined || ofClaim(object) !== ofClaim(previous)),
    );
    for (const kind of always) if (cache.kinds.includes(kind)) cache.on(kind, () => this.note(true));
  }

  /** If two counts are equal, the results of a search are equal too. */
  get count(): number {
    return this.changes;
  }

  private note(matters: boolean): void {
    if (matters) this.changes += 1;
  }
}

function ofPod({ metadata, spec, status }: Pod): string {
  return JSON.stringify([
    spec.nodeName,
    status?.phase,
    metadata.deletionTimestamp,
    metadata.labels,
    metadata.annotations,
  ]);
}

function ofNode({ metadata, spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return JSON.stringify([
    metadata.labels,
    metadata.annotations,
    metadata.deletionTimestamp,
    // The soft taints of steering do not matter to a search.
    { ...spec, taints: withoutTaint({ spec }, taints.steer) },
    status?.allocatable,
    ready,
  ]);
}

function ofClaim({ metadata, status }: NodeClaim): string {
  const conditions = status?.conditions?.map(({ type, status: value }) => `${type}=${value}`);
  return JSON.stringify([metadata.labels, metadata.deletionTimestamp, status?.providerID, conditions]);
}
