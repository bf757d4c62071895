import type { Condition, Pod, Taint } from '../../api/kubernetes.js';
import type { Daemon } from './daemons.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { nodePoolIssues } from '../../api/karpenter/node-pool-rules.js';
import { isProtectedLabel } from '../../api/karpenter/requirement-rules.js';
import { annotations, labels } from '../../api/labels.js';
import { claimRefusalsOn, podShape, refusalsOn, whyNotPlanned } from '../../core/refusals.js';
import { whyFailingPoolRests } from '../../core/registration-health.js';
import { nodePoolReadiness } from '../../core/conditions.js';
import { compareText } from '../../core/text.js';
import type { InstanceType } from '../../core/instance-type.js';
import { doesNotExist, freshValue, single, type Requirement } from '../requirements/requirement.js';
import {
  impossibleKey,
  join,
  noRequirements,
  readLabels,
  readNodeRequirements,
  readRequirements,
  type Requirements,
} from '../requirements/requirements.js';
import { inCanonicalOrder } from './catalogue-order.js';
import { untolerated } from '../../core/taints.js';
import { nameOf } from '../../core/names.js';

/** A NodePool that may launch nodes. */
export interface Pool {
  readonly index: number;
  readonly name: string;
  readonly weight: number;
  /** The latest version of the object. */
  object: NodePool;
  /** Requirements of the template, including its labels and the label of the NodePool. */
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
  readonly types: readonly InstanceType[];
}

/** What a NodePool asks of pods. */
export type Asked = Pick<Pool, 'name' | 'requirements' | 'taints'>;

/** A NodePool that may not launch nodes, and why. */
export interface SkippedPool extends Asked {
  readonly message: string;
}

/**
 * The NodePools that provisioning uses (node-pools/considered): dynamic, not being deleted, Ready (without conditions,
 * as in a file, a NodePool counts as Ready), and without a back-off after NodeClaims that were refused or got no node.
 * Sorted by weight descending, then name descending.
 */
export function considerPools(
  nodePools: readonly NodePool[],
  catalogues: ReadonlyMap<string, readonly InstanceType[]>,
  now: number,
): { pools: Pool[]; skipped: SkippedPool[] } {
  const skipped: SkippedPool[] = [];
  const eligible: NodePool[] = [];
  for (const pool of nodePools) {
    const message = whyNot(pool, now);
    if (message === undefined) eligible.push(pool);
    else if (message !== '')
      skipped.push({ ...(whyInvalid(pool) === undefined ? askedOf(pool) : unread(pool)), message });
  }
  eligible.sort((a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || compareText(nameOf(b), nameOf(a)));
  const pools: Pool[] = [];
  for (const object of eligible) {
    const asked = askedOf(object);
    const key = impossibleKey(asked.requirements);
    if (key !== undefined) {
      skipped.push({ ...asked, message: `has requirements that do not allow its label ${key}` });
      continue;
    }
    pools.push({
      ...asked,
      index: pools.length,
      weight: object.spec.weight ?? 0,
      object,
      types: inCanonicalOrder(catalogues.get(nameOf(object)) ?? none),
    });
  }
  skipped.sort((a, b) => compareText(a.name, b.name));
  return { pools, skipped };
}

const none: readonly InstanceType[] = [];

const askedOf = (pool: NodePool): Asked => ({
  name: nameOf(pool),
  requirements: templateRequirements(pool),
  taints: pool.spec.template.spec.taints ?? [],
});

/** An invalid NodePool: what it asks of pods cannot be read. */
const unread = (pool: NodePool): Asked => ({ name: nameOf(pool), requirements: noRequirements, taints: [] });

/** Why a NodePool is not used; empty if that need not be reported. */
function whyNot(pool: NodePool, now: number): string | undefined {
  const { metadata, spec, status } = pool;
  if (spec.replicas !== undefined) return '';
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const rest = whyRests(pool, now);
  if (ready === undefined) return whyInvalid(pool) ?? rest;
  if (ready.status === 'True') return rest;
  const message = causeOf(status?.conditions ?? []) ?? ready.message ?? '';
  return `is not ready${message === '' ? '' : `: ${message}`}`;
}

/** Ready only names the condition that is not True. */
function causeOf(conditions: readonly Condition[]): string | undefined {
  const parts = conditions.filter(({ type }) => nodePoolReadiness.some((one) => one === type));
  return parts.find(({ status, message }) => status !== 'True' && (message ?? '') !== '')?.message;
}

/** The back-off after NodeClaims that the API server refused, or that got no node. */
function whyRests(pool: NodePool, now: number): string | undefined {
  const { annotations: own, generation } = pool.metadata;
  const refusal = claimRefusalsOn(pool, now).find(({ shape }) => shape === '');
  const why = refusal && whyNotPlanned(refusal, now);
  return why ?? whyFailingPoolRests(own?.[annotations.registrations], generation, now);
}

/** Where pods of one shape were refused. */
export interface ShapeRefusals {
  /** By NodePool that launches nothing for them now, because the API server refused a NodeClaim: why. */
  readonly pools: ReadonlyMap<string, string>;
  /** Nodes, by name, on which kube-scheduler refused them, also after the back-off (provisioning/refused-pods). */
  readonly nodes: ReadonlySet<string>;
}

/** Returns a function that gives the refusals of pods like a pod, by an equal object for equal pods. */
export function shapeRefusals(nodePools: readonly NodePool[], now: number): (pod: Pod) => ShapeRefusals | undefined {
  const byShape = new Map<string, { pools: Map<string, string>; nodes: Set<string> }>();
  for (const pool of nodePools) {
    for (const refusal of refusalsOn(pool, now)) {
      if (refusal.shape === '') continue;
      const why = refusal.by === 'api-server' ? whyNotPlanned(refusal, now) : undefined;
      const ofShape = byShape.get(refusal.shape) ?? { pools: new Map<string, string>(), nodes: new Set<string>() };
      if (why !== undefined) ofShape.pools.set(nameOf(pool), `for this pod it ${why}`);
      for (const node of refusal.nodes) ofShape.nodes.add(node);
      byShape.set(refusal.shape, ofShape);
    }
  }
  return (pod) => (byShape.size === 0 ? undefined : byShape.get(podShape(pod)));
}

/** Validates a NodePool without conditions. */
function whyInvalid(pool: NodePool): string | undefined {
  const errors = nodePoolIssues(pool).filter(({ severity }) => severity !== 'warning');
  return errors.length === 0 ? undefined : `is not valid: ${errors.map(({ message }) => message).join('; ')}`;
}

/** The label that names a node's node class, such as `karpenter.k8s.aws/ec2nodeclass`. */
export const nodeClassLabel = ({ spec }: NodePool): ReturnType<typeof labelOfRef> =>
  labelOfRef(spec.template.spec.nodeClassRef);

export function labelOfRef({
  group,
  kind,
  name,
}: NodePool['spec']['template']['spec']['nodeClassRef']): { key: string; value: string } | undefined {
  return group === '' || kind === '' ? undefined : { key: `${group}/${kind.toLowerCase()}`, value: name };
}

/** Requirements of the template, including its labels and those of every node of the NodePool. */
export function templateRequirements(pool: NodePool): Requirements {
  const { metadata, spec } = pool.spec.template;
  const own = new Map<string, Requirement>([[labels.nodePool, single(nameOf(pool))]]);
  const nodeClass = nodeClassLabel(pool);
  if (nodeClass !== undefined) own.set(nodeClass.key, single(nodeClass.value));
  return join(withoutChoice(readNodeRequirements(spec.requirements)), readLabels(metadata?.labels), own);
}

/**
 * Pods may not choose open values of labels in Kubernetes domains, since components trust such labels
 * (labels/protected-domains). A node gets such a label only if it must, with the same value for all pods.
 */
function withoutChoice(requirements: Requirements): Requirements {
  const isOpenToPods = ([key, { complement }]: readonly [string, Requirement]): boolean =>
    complement && isProtectedLabel(key);
  if (![...requirements].some(isOpenToPods)) return requirements;
  const closed = (each: Requirement): Requirement =>
    each.absent ? doesNotExist : single(freshValue(each, new Set()) ?? '');
  return new Map(
    [...requirements].map((entry) => [entry[0], isOpenToPods(entry) ? closed(entry[1]) : entry[1]] as const),
  );
}

/** A key for which the written requirements leave no value (requirements/nothing-left). */
export const contradictoryKey = ({ spec }: NodePool): string | undefined =>
  impossibleKey(readRequirements(spec.template.spec.requirements));

/** The DaemonSets that run on a node with these taints; PreferNoSchedule does not keep them away. */
export function toleratingDaemons<T extends Pick<Daemon, 'spec'>>(
  daemons: readonly T[],
  taints: readonly Taint[],
): T[] {
  return daemons.filter(({ spec }) => untolerated(taints, spec.tolerations, false) === undefined);
}
