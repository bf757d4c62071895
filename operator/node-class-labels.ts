import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { KubernetesObject } from '../api/kubernetes.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim, updateNode } from '../cluster/writes.js';
import { isTrue } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { labelOfRef } from '../packing/compile/pools.js';
import type { OperatorContext } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Adds the label of their node class to claims and their Nodes that lack it (labels/of-the-node-class). */
export function watchNodeClassLabels(context: OperatorContext): () => void {
  const { cache, log } = context;
  const queue = new WorkQueue('labelling a NodeClaim', (name) => label(context, name), log);
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

/** The claim, and its Node once it is registered, so far as they lack the label. */
function lacking(context: OperatorContext, claim: NodeClaim): readonly KubernetesObject[] {
  const own = labelOfRef(claim.spec.nodeClassRef);
  if (own === undefined || !isManaged(context, claim.spec.nodeClassRef)) return [];
  const node = isTrue(claim.status?.conditions, 'Registered') ? nodeOf(context.cache, claim) : undefined;
  return [claim, ...(node === undefined ? [] : [node])].filter(
    ({ metadata }) => lookUp(metadata.labels, own.key) !== own.value,
  );
}

async function label(context: OperatorContext, name: string): Promise<undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  const own = claim === undefined ? undefined : labelOfRef(claim.spec.nodeClassRef);
  if (claim === undefined || own === undefined) return;
  const metadata = { labels: { [own.key]: own.value } };
  for (const object of lacking(context, claim)) {
    if (object === claim) await updateClaim(context.kube, identityOf(claim), () => ({ metadata }));
    else await updateNode(context.kube, object.metadata.name ?? '', () => ({ metadata }));
  }
}
