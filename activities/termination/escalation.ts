import type { OwnerReference, Pod, Workload } from '../../api/kubernetes.js';
import { timestamp } from '../../core/conditions.js';
import { cutText, counted, blockerText } from '../../core/text.js';
import { isDomainError, type DomainError } from '../../core/failures.js';
import { doNotDisruptUntil } from '../../core/do-not-disrupt.js';
import { controllerOf, kindOf } from '../../core/owners.js';
import type { ClaimRef } from '../../workflows/messages.js';
import type { DrainBlocker, EscalationActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { withFailures } from '../to-failure.js';
import { regarding } from '../../core/events.js';
import { fullName, isDeleting } from '../../core/names.js';

/** What `kubectl rollout restart` writes into a pod template. */
const restartedAt = 'kubectl.kubernetes.io/restartedAt';
/** The most characters of an API server's message. */
const mostOfRefusal = 300;

/** The steps of a stuck drain (DisruptionPolicy, `drainEscalation`). */
export function createEscalationActivities(deps: ActivityDeps): EscalationActivities {
  return withFailures<EscalationActivities>({
    notifyStuckDrain: (input) => {
      notify(deps, input);
      return Promise.resolve();
    },
    restartOwners: (input) => restartOwners(deps, input),
  });
}

function notify(
  deps: ActivityDeps,
  input: { claim: ClaimRef; nodeName: string; stuckMs: number; blockers: readonly DrainBlocker[] },
): void {
  const { claim, nodeName, stuckMs, blockers } = input;
  const held = blockers.map(blockerText).join('; ');
  const length =
    stuckMs < 120_000 ? counted(Math.round(stuckMs / 1000), 'second') : counted(Math.round(stuckMs / 60_000), 'minute');
  const message = `The drain has been stuck for ${length}: ${held}`;
  for (const subject of [regarding('Node', { name: nodeName }), regarding('NodeClaim', claim)]) {
    deps.events.publish({ regarding: subject, type: 'Warning', reason: 'FailedDraining', message });
  }
  deps.log.warn({ nodeClaim: claim.name, node: nodeName, blockedBy: blockers.map(({ name }) => name) }, message);
}

async function restartOwners(
  deps: ActivityDeps,
  { pods, at }: { pods: readonly string[]; at: number },
): ReturnType<EscalationActivities['restartOwners']> {
  const restarted = new Set<string>();
  const refused = new Map<string, string>();
  for (const key of pods) {
    const [namespace = '', name = ''] = key.split('/');
    const pod = deps.cache.get('Pod', { namespace, name });
    if (pod === undefined || isDeleting(pod)) continue;
    const owner = rolledOutBy(deps, pod);
    if (owner === undefined) {
      refused.set(`Pod ${key}`, 'no Deployment or StatefulSet owns it');
      continue;
    }
    const title = `${owner.kind} ${namespace}/${owner.name}`;
    if (restarted.has(title) || refused.has(title)) continue;
    const why = whyNotRestarted(deps, namespace, owner) ?? (await restart(deps, namespace, owner, at));
    if (why === undefined) restarted.add(title);
    else refused.set(title, why);
  }
  deps.log.info(
    { restarted: [...restarted], refused: [...refused] },
    'restarted the owners of pods that a budget holds on a deleting node',
  );
  return { restarted: [...restarted], refused: [...refused].map(([owner, why]) => ({ owner, why })) };
}

type Owner = Pick<OwnerReference, 'kind' | 'name' | 'uid'> & { readonly kind: 'Deployment' | 'StatefulSet' };

/** The owner whose rollout replaces the pod: its StatefulSet, or the Deployment of its ReplicaSet. */
function rolledOutBy(deps: Pick<ActivityDeps, 'cache'>, pod: Pod): Owner | undefined {
  const own = controllerOf(pod);
  if (own === undefined) return undefined;
  if (kindOf(own) === 'StatefulSet.apps') return { ...own, kind: 'StatefulSet' };
  if (kindOf(own) !== 'ReplicaSet.apps') return undefined;
  const set = deps.cache.get('ReplicaSet', { namespace: pod.metadata.namespace ?? 'default', name: own.name });
  const above = set && controllerOf(set);
  return above && kindOf(above) === 'Deployment.apps' ? { ...above, kind: 'Deployment' } : undefined;
}

/**
 * A rollout replaces every pod of its owner: none of them may be marked do-not-disrupt (invariants/protection-holds).
 */
function whyNotRestarted(deps: ActivityDeps, namespace: string, owner: Owner): string | undefined {
  const now = deps.now();
  const marked = deps.cache
    .all('Pod')
    .find(
      (pod) =>
        pod.metadata.namespace === namespace &&
        doNotDisruptUntil(pod, now) !== undefined &&
        rolledOutBy(deps, pod)?.uid === owner.uid,
    );
  return marked === undefined ? undefined : `its pod ${fullName(marked)} is marked do-not-disrupt`;
}

/** Rollout fields of a workload, which the cache does not keep. */
interface Rollout {
  readonly paused?: boolean;
  readonly updateStrategy?: { readonly type?: string };
}

/** Returns why nothing was restarted; undefined if it was. */
async function restart(
  { kube }: ActivityDeps,
  namespace: string,
  { kind, name, uid }: Owner,
  at: number,
): Promise<string | undefined> {
  const workload: Workload | undefined = await kube.get(kind, { namespace, name });
  if (workload?.metadata.uid !== uid) return 'it is gone';
  const { paused, updateStrategy } = workload.spec as Rollout;
  if (paused === true) return 'its rollout is paused';
  if (updateStrategy?.type === 'OnDelete') return 'its update strategy OnDelete restarts nothing';
  const annotations = { [restartedAt]: timestamp(at) };
  try {
    const { outcome } = await kube.patch(
      kind,
      { namespace, name },
      { metadata: { uid }, spec: { template: { metadata: { annotations } } } },
    );
    return outcome === 'patched' ? undefined : 'it is gone';
  } catch (error) {
    // The permission is optional (`rolloutRestarts` of the chart). A retry would be refused again, and delay the later
    // steps.
    if (!isForbidden(error)) throw error;
    return cutText(error.message, mostOfRefusal);
  }
}

const isForbidden = (error: unknown): error is DomainError =>
  isDomainError(error, 'Denied') && error.details.status === 403;
