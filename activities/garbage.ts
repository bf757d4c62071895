import { instanceTags } from '../api/labels.js';
import { isTrue } from '../core/conditions.js';
import { managedClaims, nodeOf } from './cluster.js';
import type { ActivityDeps } from './deps.js';
import { countDisrupted } from './disrupted-metrics.js';
import { identityOf } from './labels-of.js';

/** An instance may be younger than its claim's status: leave it this long (section 3.7). */
const youngestOrphanMs = 30_000;
const launchTimeoutMs = 300_000;

/**
 * Terminates instances of this cluster that no claim knows (section 3.7), with their Nodes. Claims are listed from the
 * API server after the instances, so that no claim of a listed instance is missed; one whose claim is still to be told of it stays,
 * and while some claim still launches, an unknown instance may be its, and has until the launch timeout.
 */
export async function collectInstances(deps: ActivityDeps): Promise<{ terminated: string[] }> {
  const instances = await deps.cloud.list();
  const claims = await deps.kube.list('NodeClaim');
  const known = new Set(claims.map(({ status }) => status?.providerID));
  const awaiting = claims.filter(({ status }) => status?.providerID === undefined || status.providerID === '');
  const awaitedBy = new Set(awaiting.map(({ metadata }) => metadata.uid));
  const terminated: string[] = [];
  for (const { providerId, instanceId, launchedAt, state, tags } of instances) {
    const age = deps.now() - launchedAt;
    const patience = awaiting.length > 0 ? launchTimeoutMs + youngestOrphanMs : youngestOrphanMs;
    if (known.has(providerId) || age < patience || state === 'shutting-down') continue;
    // The API server may have been away for longer than any launch takes: its status will be written now.
    if (awaitedBy.has(tags[instanceTags.nodeClaimUid])) continue;
    await deps.cloud.terminate(providerId);
    const node = deps.cache.nodeByProviderId(providerId);
    if (node !== undefined) await deps.kube.delete('Node', { name: node.metadata.name ?? '' });
    deps.log.warn({ instanceId, ageMs: age }, 'terminated an instance without a NodeClaim');
    terminated.push(instanceId);
  }
  return { terminated };
}

/** Deletes registered claims whose instance is gone and whose node is absent or not Ready (section 3.7). */
export async function collectClaims(deps: ActivityDeps): Promise<{ deleted: string[] }> {
  const candidates = managedClaims(deps).filter(
    (claim) => isTrue(claim.status?.conditions, 'Registered') && claim.metadata.deletionTimestamp === undefined,
  );
  if (candidates.length === 0) return { deleted: [] };
  const alive = new Set((await deps.cloud.list()).map(({ providerId }) => providerId));
  const deleted: string[] = [];
  for (const claim of candidates) {
    if (alive.has(claim.status?.providerID ?? '')) continue;
    const node = nodeOf(deps.cache, claim);
    if (node !== undefined && isTrue(node.status?.conditions, 'Ready')) continue;
    const { name, uid } = identityOf(claim);
    if ((await deps.kube.delete('NodeClaim', { name }, { uid })) === 'gone') continue;
    deps.log.warn({ nodeClaim: name }, 'deleted a NodeClaim whose instance is gone');
    countDisrupted(deps, claim, 'garbage_collected');
    deleted.push(name);
  }
  return { deleted };
}
