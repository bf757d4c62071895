import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { KubernetesObject } from '../api/kubernetes.js';
import { finalizers } from '../api/labels.js';
import { isManaged, nodeOf } from '../cluster/cluster.js';
import { identityOf } from '../cluster/node-labels.js';
import { updateClaim, updateNode } from '../cluster/writes.js';
import { backOffMs } from '../core/back-off.js';
import { isTrue } from '../core/conditions.js';
import { lookUp } from '../core/own.js';
import { settleAll } from '../core/at-once.js';
import { labelOfRef } from '../packing/compile/pools.js';
import type { OperatorContext } from './context.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import type { Requeue } from './work-queue.js';
import { isDeleting, nameOf } from '../core/names.js';

/**
 * Adds missing labels and finalizers to claims and their Nodes: the label of the node class (labels/of-the-node-class),
 * and the finalizer without which a deletion would skip the drain (termination/finalizers-stay).
 */
export function watchClaimMarks(context: OperatorContext): () => void {
  const { cache, log } = context;
  const attempts = new Attempts(context.now);
  const complete = reportingRefusals(context, 'NodeClaim', (name) => completeMarks(context, name, attempts));
  const queue = new WorkQueue('adding what a NodeClaim or its Node lacks', complete, log);
  const look = (claim: NodeClaim | undefined): void => {
    if (claim !== undefined && lacking(context, claim).length > 0) queue.add(nameOf(claim));
  };
  const stops = [
    cache.onEach('NodeClaim', ({ type, object }) => {
      if (type === 'deleted') attempts.forget(nameOf(object));
      else look(object);
    }),
    cache.on('Node', ({ type, object }) => {
      if (type !== 'deleted') look(cache.nodeClaimByProviderId(object.spec?.providerID ?? ''));
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

const pauses = { firstMs: 1000, longestMs: 300_000 };
/** After this time without an attempt the back-off starts again. */
const forgottenAfterMs = 600_000;

/**
 * Back-off by NodeClaim: if another actor repeatedly removes what is written, or refuses it, each attempt waits longer.
 */
class Attempts {
  private readonly known = new Map<string, { readonly count: number; readonly lastAt: number }>();

  constructor(private readonly now: () => number) {}

  /** How long the next attempt has to wait, milliseconds; undefined if it may start, which is recorded. */
  begin(name: string): number | undefined {
    const now = this.now();
    const { count, lastAt } = this.known.get(name) ?? { count: 0, lastAt: now };
    // If the clock was set back, the age is unknown.
    const isFirst = count === 0 || now < lastAt || now > lastAt + forgottenAfterMs;
    const rest = isFirst ? 0 : lastAt + backOffMs(count, pauses) - now;
    if (rest > 0) return rest;
    this.known.set(name, { count: isFirst ? 1 : count + 1, lastAt: now });
    return undefined;
  }

  forget(name: string): void {
    this.known.delete(name);
  }
}

/** Of the claim and its registered Node, those that lack something. */
function lacking(context: OperatorContext, claim: NodeClaim): readonly KubernetesObject[] {
  if (!isManaged(context, claim.spec.nodeClassRef)) return [];
  const node = isTrue(claim.status?.conditions, 'Registered') ? nodeOf(context.cache, claim) : undefined;
  return [claim, ...(node === undefined ? [] : [node])].filter((object) => marksFor(claim, object) !== undefined);
}

/** The patch for the claim or its Node; undefined if nothing is missing. */
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

/**
 * Whether there is an instance that a deletion has to terminate. Before that the launch sets the finalizer, and a
 * termination removes it.
 */
const isProtected = (claim: NodeClaim): boolean => (claim.status?.providerID ?? '') !== '' && !isDeleting(claim);

async function completeMarks(context: OperatorContext, name: string, attempts: Attempts): Promise<Requeue | undefined> {
  const claim = context.cache.get('NodeClaim', { name });
  const objects = claim === undefined ? [] : lacking(context, claim);
  if (claim === undefined || objects.length === 0) return undefined;
  const afterMs = attempts.begin(name);
  if (afterMs !== undefined) return { afterMs };
  // A write refused for the claim may be allowed for its Node.
  await settleAll(objects, (object) => addMarks(context, claim, object));
  return undefined;
}

async function addMarks({ kube, log }: OperatorContext, claim: NodeClaim, object: KubernetesObject): Promise<void> {
  const { name = '' } = object.metadata;
  const isClaim = object === claim;
  const last = { isPutBack: false };
  const decide = (live: KubernetesObject): ReturnType<typeof marksFor> => {
    const marks = marksFor(claim, live);
    last.isPutBack = marks?.metadata.finalizers !== undefined;
    return marks;
  };
  const written = isClaim
    ? await updateClaim(kube, identityOf(claim), decide)
    : await updateNode(kube, name, (live) =>
        live.spec?.providerID === claim.status?.providerID ? decide(live) : undefined,
      );
  if (written === undefined || !last.isPutBack) return;
  log.warn(
    { [isClaim ? 'nodeClaim' : 'node']: name },
    `finalizer ${finalizers.termination} was missing and is restored: without it a deletion would end the instance without a drain`,
  );
}
