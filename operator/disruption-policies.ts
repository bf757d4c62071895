import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import { managedPools } from '../cluster/cluster.js';
import { updateObject } from '../cluster/writes.js';
import { conditionOf, withCondition, withReady } from '../core/conditions.js';
import type { ConditionChange } from '../core/conditions.js';
import { canonicalJson } from '../core/hash.js';
import { effectivePolicyOf } from '../disruption/policies/effective-policy.js';
import { policyProblems } from '../disruption/budgets/policy-problems.js';
import type { OperatorContext } from './context.js';
import { reportingRefusals } from './refused-writes.js';
import { WorkQueue } from './work-queue.js';
import { nameOf } from '../core/names.js';

const policyType = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy' } as const;
const failed = 'DisruptionPolicyValidationFailed';

/**
 * Writes the NodePools to which each DisruptionPolicy applies, and ValidationSucceeded: False names the invalid field,
 * in an event too.
 */
export function watchDisruptionPolicies(context: OperatorContext): () => void {
  const { cache, log } = context;
  const reconciling = reportingRefusals(context, 'DisruptionPolicy', (name) => reconcile(context, name));
  const queue = new WorkQueue('writing the status of a DisruptionPolicy', reconciling, log);
  const all = (): void => cache.all('DisruptionPolicy').forEach(({ metadata }) => queue.add(metadata.name ?? ''));
  const changed = (before: number | undefined, after: number | undefined): void => {
    if (before !== undefined && before === after) return;
    all();
  };
  const stops = [
    cache.on('DisruptionPolicy', ({ type, object, previous }) =>
      changed(type === 'modified' ? previous?.metadata.generation : undefined, object.metadata.generation),
    ),
    cache.on('NodePool', ({ type, object, previous }) => {
      const same = type === 'modified' && labelsText(previous) === labelsText(object);
      changed(same ? previous?.metadata.generation : undefined, object.metadata.generation);
    }),
  ];
  all();
  return () => {
    for (const stop of stops) stop();
    queue.stop();
  };
}

function labelsText(pool: { metadata: { labels?: Record<string, string> } } | undefined): string {
  return canonicalJson(pool?.metadata.labels ?? {});
}

async function reconcile(context: OperatorContext, name: string): Promise<undefined> {
  const { cache, kube, now } = context;
  const policy = cache.get('DisruptionPolicy', { name });
  if (policy === undefined) return undefined;
  const policies = cache.all('DisruptionPolicy');
  const pools = managedPools(context).filter((pool) => effectivePolicyOf(pool, policies).policy === name);
  const nodePools = pools.map(nameOf).sort();
  const change = validation(policyProblems(policy, pools, now()));
  const known = conditionOf(policy.status?.conditions, change.type);
  const isKnown = known?.status === change.status && known.message === (change.message ?? '');
  const { generation: seen } = policy.metadata;
  if (isKnown && known.observedGeneration === seen && sameNames(policy, nodePools)) return undefined;
  await updateObject(
    kube,
    'DisruptionPolicy',
    name,
    ({ status, metadata: { generation } }) => {
      // What was found is about that spec alone.
      if (generation !== seen) return undefined;
      const at = { now: now(), generation };
      const conditions = withReady(withCondition(status?.conditions, change, at), [change.type], at);
      return {
        status: { nodePools, ...(generation === undefined ? {} : { observedGeneration: generation }), conditions },
      };
    },
    { subresource: 'status' },
  );
  if (change.status === 'True' || known?.message === change.message) return undefined;
  context.log.warn({ policy: name, problem: change.message }, 'a DisruptionPolicy is not valid');
  const { metadata } = policy;
  context.events.publish({
    regarding: { ...policyType, name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
    type: 'Warning',
    reason: failed,
    message: change.message ?? '',
  });
  return undefined;
}

function validation(problems: readonly string[]): ConditionChange {
  const type = 'ValidationSucceeded';
  if (problems.length === 0) return { type, status: 'True' };
  return { type, status: 'False', reason: failed, message: problems.join('; ') };
}

function sameNames({ status }: DisruptionPolicy, names: readonly string[]): boolean {
  return status?.nodePools?.join() === names.join();
}
