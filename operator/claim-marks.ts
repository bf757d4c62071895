import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { KubernetesObject } from '../api/kubernetes.js';
import { finalizers } from '../api/labels.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim, updateNode } from '../cluster/writes.js';
import { isTrue } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { labelOfRef } from '../packing/compile/pools.js';
import type { OperatorContext } from './context.js';
import { tellingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';

/**
 * Adds to claims and their Nodes what they lack: the label of their node class (labels/of-the-node-class), and the finalizer without which a deletion would skip the
 * drain (termination/finalizers-stay).
 */
export function watchClaimMarks(context: OperatorContext): () => void {
  const { cache, log } = context;
  const complete = tellingRefusals(context, 'NodeClaim', (name) => completeMarks(context, name));
  const queue = new WorkQueue('adding what a NodeClaim or its Node lacks', complete, log);
  const look = (claim: NodeClaim | undefined): void => {
    if (claim !== undefined && lacking(context, claim).length > 0) queue.add(claim.metadata.name ?? '');
  };
  const stops = [
    cache.on('NodeClaim', ({ type, object }) => {
      if (type !== 'deleted') look(object);
    }),
    cache.on('Node', ({ type, object }) => {
      if (type !== 'deleted') look(cache.nodeClaimByProviderId(object.spec?.providerID ?? ''));
    }),
  ];
  cache.all('NodeClaim').forEach(look);
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

/** The claim, and its Node once it is registered, so far as they lack something. */
function lacking(context: OperatorContext, claim: NodeClaim): readonly KubernetesObject[] {
  if (!isManaged(context, claim.spec.nodeClassRef)) return [];
  const node = isTrue(claim.status?.conditions, 'Registered') ? nodeOf(context.cache, claim) : undefined;
  return [claim, ...(node === undefined ? [] : [node])].filter((object) => marksFor(claim, object) !== undefined);
}

/** What to write to the claim or to its Node; undefined when nothing is lacking. */
function marksFor(claim: NodeClaim, { metadata }: KubernetesObject): { metadata: Marks } | undefined {
  const own = labelOfRef(claim.spec.nodeClassRef);
  const present = metadata.finalizers ?? [];
  const labels =
    own === undefined || lookUp(metadata.labels, own.key) === own.value ? undefined : { [own.key]: own.value };
  const isHeld = present.includes(finalizers.termination) || !isProtected(claim) || isDeleting({ metadata });
  if (labels === undefined && isHeld) return undefined;
  return {
    metadata: {
      ...(labels !== undefined && { labels }),
      ...(!isHeld && { finalizers: [...present, finalizers.termination] }),
    },
  };
}

interface Marks {
  readonly labels?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** Whether there is an instance that a deletion has to end. A launch sets the finalizer itself, and a termination takes it off. */
const isProtected = (claim: NodeClaim): boolean => (claim.status?.providerID ?? '') !== '' && !isDeleting(claim);

const isDeleting = ({ metadata }: Pick<KubernetesObject, 'metadata'>): boolean =>
  metadata.deletionTimestamp !== undefined;

async function completeMarks(context: OperatorContext, name: string): Promise<undefined> {
  const { cache, kube, log } = context;
  const claim = cache.get('NodeClaim', { name });
  if (claim === undefined) return;
  for (const object of lacking(context, claim)) {
    const isClaim = object === claim;
    if (marksFor(claim, object)?.metadata.finalizers !== undefined)
      log.warn(
        { [isClaim ? 'nodeClaim' : 'node']: object.metadata.name },
        'put back a finalizer that was gone: without it a deletion would end the instance without a drain',
      );
    if (isClaim) await updateClaim(kube, identityOf(claim), (live) => marksFor(live, live));
    else await updateNode(kube, object.metadata.name ?? '', (live) => marksFor(claim, live));
  }
}
