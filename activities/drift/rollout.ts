import type { NodePool, NodePoolTemplate } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { parseDuration } from '../../core/durations.js';
import { canonicalJson } from '../../core/hash.js';
import { whyNotCandidate } from '../../disruption/candidates/candidates.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { rulesOf, whyOnlyRecommended } from '../../disruption/policies/pool-rules.js';
import type { ClaimRef } from '../../workflows/messages.js';
import { candidateOf, nodeNameOf, nodeClassOf, nodeViews } from '../../cluster/cluster.js';
import { rolloutHash } from '../../cluster/rollout-hash.js';
import type { ActivityDeps } from '../deps.js';
import { emptyThenOldest } from '../../cluster/drift-order.js';
import { labelsOf } from '../../cluster/node-labels.js';
import type { RolloutActivities, RolloutRules, RolloutTarget, RolloutView } from './contract.js';
import { withFailures } from '../to-failure.js';
import { updateObject } from '../../cluster/writes.js';
import { hasOwn, lookUp } from '../../core/own.js';
import { regarding } from '../../core/events.js';

const mostCandidates = 100;

/** Activities of `replaceDrifted` (drift/rollouts). */
export function createRolloutActivities(deps: ActivityDeps): RolloutActivities {
  return withFailures<RolloutActivities>({
    viewRollout: ({ target, launched }) => view(deps, target, launched),
    markGood: (target) => markGood(deps, target),
    noteStopped: ({ nodePool, poolUid, hash }) =>
      annotate(deps, { nodePool, poolUid }, () => ({ [annotations.driftStopped]: hash })),
    rollBack: (target) => rollBack(deps, target),
  });
}

async function view(
  deps: ActivityDeps,
  { nodePool, poolUid, hash }: RolloutTarget,
  launched: readonly ClaimRef[],
): Promise<RolloutView> {
  const pool = deps.cache.get('NodePool', { name: nodePool });
  if (pool?.metadata.uid !== poolUid) return { state: 'superseded', by: 'the NodePool is gone' };
  const present = rolloutHash(pool, nodeClassOf(deps, pool.spec.template.spec.nodeClassRef));
  if (present !== hash) return { state: 'superseded', by: `the nodes are to become ${present}` };
  const policies = deps.cache.all('DisruptionPolicy');
  const { spec, invalid } = effectivePolicyOf(pool, policies);
  const poolRules = rulesOf(pool, policies);
  const views = (await nodeViews(deps)).filter(({ claim }) => labelsOf(claim).nodePool === nodePool);
  const drifted = views.filter(({ claim }) => isTrue(claim.status?.conditions, 'Drifted'));
  const judged = drifted.map((one) => ({ one, why: whyNot(deps, one) }));
  const free = judged.filter(({ why }) => why === undefined).map(({ one }) => one);
  const blockedBy = judged.find(({ why }) => why !== undefined);
  const leftAlone = whyOnlyRecommended(poolRules) ?? invalid;
  const asked = poolRules.approval('Drifted');
  return {
    state: 'live',
    ...(spec.driftRollout === undefined ? {} : { rules: rulesFrom(spec.driftRollout) }),
    total: views.length,
    drifted: free.sort(emptyThenOldest).slice(0, mostCandidates).map(candidateOf),
    blocked: judged.length - free.length,
    ...(blockedBy === undefined ? {} : { blockedBy: `${nodeNameOf(blockedBy.one)}: ${blockedBy.why ?? ''}` }),
    ...(asked === undefined ? {} : { approval: asked }),
    ...(leftAlone === undefined ? {} : { leftAlone }),
    unwell: launched.filter(({ uid }) => !isWell(views, uid)).map(({ name }) => name),
  };
}

function rulesFrom(rollout: NonNullable<ReturnType<typeof effectivePolicyOf>['spec']['driftRollout']>): RolloutRules {
  const { soak, ...rest } = rollout;
  return { ...rest, soakMs: parseDuration(soak, 'driftRollout.soak') };
}

function whyNot(deps: ActivityDeps, one: NodeView): string | undefined {
  const context = {
    now: deps.now(),
    claimed: new Set<string>(),
    nominated: new Set<string>(),
    podDisruptionBudgets: deps.cache.all('PodDisruptionBudget'),
  };
  return whyNotCandidate(one, context, 'eventual');
}

function isWell(views: readonly NodeView[], uid: string): boolean {
  const own = views.find(({ claim }) => claim.metadata.uid === uid);
  return own?.node !== undefined && isTrue(own.node.status?.conditions, 'Ready');
}

/** Records the template of the last successful rollout, as JSON. */
async function markGood(deps: ActivityDeps, { nodePool, poolUid, hash }: RolloutTarget): Promise<void> {
  await annotate(deps, { nodePool, poolUid }, (pool): Readonly<Record<string, string | null>> =>
    rolloutHash(pool, nodeClassOf(deps, pool.spec.template.spec.nodeClassRef)) === hash
      ? { [annotations.lastGoodTemplate]: canonicalJson(pool.spec.template), [annotations.driftStopped]: null }
      : {},
  );
}

async function annotate(
  deps: ActivityDeps,
  { nodePool, poolUid }: Pick<RolloutTarget, 'nodePool' | 'poolUid'>,
  decide: (pool: NodePool) => Readonly<Record<string, string | null>>,
): Promise<void> {
  await updateObject(deps.kube, 'NodePool', nodePool, (pool) => {
    if (pool.metadata.uid !== poolUid) return undefined;
    const wanted = Object.entries(decide(pool));
    const own = pool.metadata.annotations ?? {};
    if (wanted.every(([key, value]) => (lookUp(own, key) ?? null) === value)) return undefined;
    return { metadata: { annotations: Object.fromEntries(wanted) } };
  });
}

async function rollBack(
  deps: ActivityDeps,
  { nodePool, poolUid, hash, why }: RolloutTarget & { readonly why: string },
): ReturnType<RolloutActivities['rollBack']> {
  let outcome: Awaited<ReturnType<RolloutActivities['rollBack']>> = { outcome: 'nothing', why: 'the NodePool is gone' };
  const written = await updateObject(deps.kube, 'NodePool', nodePool, (pool) => {
    const refused = whyNoRollback(deps, pool, { nodePool, poolUid, hash });
    if (refused !== undefined) {
      outcome = { outcome: 'nothing', why: refused };
      return undefined;
    }
    outcome = { outcome: 'rolledBack', why: 'the template is as it was last good' };
    return { spec: { template: patchBetween(pool.spec.template, goodTemplateOf(pool)!) } };
  });
  if (outcome.outcome === 'rolledBack') {
    deps.events.publish({
      regarding: regarding('NodePool', { name: nodePool, uid: written?.metadata.uid }),
      type: 'Warning',
      reason: 'DriftRolledBack',
      message: `Wrote the last good template back: ${why}`,
    });
  }
  return outcome;
}

/** Undefined where none is recorded, or the record cannot be read. */
function goodTemplateOf({ metadata }: NodePool): NodePoolTemplate | undefined {
  try {
    const good: unknown = JSON.parse(metadata.annotations?.[annotations.lastGoodTemplate] ?? 'null');
    return isRecord(good) ? (good as NodePoolTemplate) : undefined;
  } catch {
    return undefined;
  }
}

function whyNoRollback(deps: ActivityDeps, pool: NodePool, { poolUid, hash }: RolloutTarget): string | undefined {
  if (pool.metadata.uid !== poolUid) return 'the NodePool was deleted and created again';
  const good = goodTemplateOf(pool);
  if (good === undefined) return 'no template of it is known to be good';
  const { template } = pool.spec;
  if (canonicalJson(good) === canonicalJson(template)) {
    return 'its template is the last good one already';
  }
  const present = rolloutHash(pool, nodeClassOf(deps, template.spec.nodeClassRef));
  return present === hash ? undefined : 'it was changed meanwhile';
}

/** A merge patch from `before` to `after`: fields that `after` lacks are removed, lists are replaced. */
function patchBetween(before: object, after: object): object {
  const gone = Object.keys(before).filter((key) => !hasOwn(after, key));
  const kept = Object.entries(after).map(([key, value]: [string, unknown]) => {
    const old = lookUp(before as Record<string, unknown>, key);
    return [key, isRecord(value) && isRecord(old) ? patchBetween(old, value) : value] as const;
  });
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(kept) };
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
