import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { restrictedTags } from '../../api/aws/ec2-node-class.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { ec2NodeClassKubeletVerdict, resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { ConditionChange } from '../../core/conditions.js';
import { messageOf } from '../../core/error-message.js';
import { isDomainError, isTransient } from '../../core/failures.js';
import { eniPods } from './capacity.js';
import type { ClusterFacts } from './cluster-facts.js';
import { UnsupportedAliasError } from './images.js';
import { MissingIdentityError } from './instance-profiles.js';
import { hasExpressions, resolvedKubelet, unreadableExpressions } from './kubelet-expressions.js';
import type { MachineTypes } from './machine-types.js';

/** Dependencies of validation. */
export interface ValidationDeps {
  readonly facts: Pick<ClusterFacts, 'get'>;
  /** Whether kubelet settings may be expressions (gate NodeClassCEL). */
  readonly expressions: boolean;
  readonly machines: () => Promise<MachineTypes>;
  /** Dry runs; undefined if they are disabled. */
  readonly dryRun?: (nodeClass: EC2NodeClass, pools?: readonly NodePool[]) => Promise<ConditionChange>;
}

/** The conditions that validation waits for: it fails if one of them has failed. */
const awaited: ReadonlySet<string> = new Set([
  'AMIsReady',
  'SubnetsReady',
  'SecurityGroupsReady',
  'InstanceProfileReady',
]);

const type = 'ValidationSucceeded';

/**
 * Condition ValidationSucceeded of a node class; `complete`: everything that it refers to was resolved
 * (node-classes/ready).
 */
export async function validateNodeClass(
  deps: ValidationDeps,
  nodeClass: EC2NodeClass,
  { complete, pools }: { readonly complete: boolean; readonly pools: readonly NodePool[] },
): Promise<ConditionChange> {
  return (
    invalidKubelet(nodeClass, deps) ??
    (complete ? undefined : awaitingOthers(nodeClass)) ??
    (await unknownCluster(nodeClass, deps)) ??
    (await brokenExpressions(nodeClass, deps)) ??
    wrongTags(nodeClass) ??
    (await deps.dryRun?.(nodeClass, pools)) ?? { type, status: 'True' }
  );
}

function invalidKubelet(nodeClass: EC2NodeClass, { expressions }: ValidationDeps): ConditionChange | undefined {
  const verdict = ec2NodeClassKubeletVerdict(nodeClass, expressions);
  if (verdict !== undefined) {
    const message = verdict.issues.map((issue) => issue.message).join('; ');
    return { type, status: 'False', reason: verdict.reason, message };
  }
  const unreadable = unreadableExpressions(nodeClass.spec.kubelet);
  if (unreadable.length === 0) return undefined;
  return { type, status: 'False', reason: 'KubeletExpressionInvalid', message: unreadable.join('; ') };
}

function awaitingOthers({ status: own }: EC2NodeClass): ConditionChange {
  const message = 'waiting for subnets, security groups, images and instance profile';
  const failed = own?.conditions?.some(({ type: of, status }) => awaited.has(of) && status === 'False');
  return { type, status: failed === true ? 'False' : 'Unknown', reason: 'DependenciesNotReady', message };
}

/** Data of the cluster that a node needs to join it and that cannot be found. */
async function unknownCluster({ spec }: EC2NodeClass, { facts }: ValidationDeps): Promise<ConditionChange | undefined> {
  const reason = 'ClusterCIDRResolutionFailed';
  try {
    const family = resolvedAmiFamily(spec);
    const { serviceCidr } = await facts.get(family);
    if (family !== 'AL2023' || serviceCidr !== undefined) return undefined;
    return { type, status: 'False', reason, message: 'EKS returned no service address range' };
  } catch (error) {
    if (!isDomainError(error, 'NodeClassNotReady'))
      return { type, status: 'Unknown', reason, message: messageOf(error) };
    const message = error.message.replace(/^ClusterCAResolutionFailed: /, '');
    return { type, status: 'False', reason: 'ClusterCAResolutionFailed', message };
  }
}

/** Expressions that cannot be evaluated for some instance type, with the first of these. */
async function brokenExpressions(
  { spec }: EC2NodeClass,
  { machines }: ValidationDeps,
): Promise<ConditionChange | undefined> {
  if (!hasExpressions(spec.kubelet)) return undefined;
  try {
    const { infos } = await machines();
    const [first] = infos.flatMap((info) => expressionProblem(spec.kubelet, info));
    if (first === undefined) return undefined;
    return { type, status: 'False', reason: 'KubeletExpressionEvaluationFailed', message: first };
  } catch (error) {
    return { type, ...failureCondition(error) };
  }
}

/** Tags that the API server rejects, unless its CRDs are of an older release. */
function wrongTags({ spec }: EC2NodeClass): ConditionChange | undefined {
  const wrong = restrictedTags(spec.tags);
  if (wrong.length === 0) return undefined;
  const message = `spec.tags: ${wrong.join(', ')} is set by the system and may not be chosen`;
  return { type, status: 'False', reason: 'TagValidationFailed', message };
}

function expressionProblem(kubelet: EC2NodeClass['spec']['kubelet'], info: InstanceTypeInfo): string[] {
  try {
    resolvedKubelet(kubelet, info, eniPods(info, 0));
    return [];
  } catch (error) {
    if (isDomainError(error, 'Invalid')) return [error.message];
    throw error;
  }
}

/** The condition for a failed call. */
export function failureCondition(error: unknown): Omit<ConditionChange, 'type'> {
  const message = messageOf(error);
  if (error instanceof UnsupportedAliasError) return { status: 'False', reason: 'UnsupportedAlias', message };
  if (error instanceof MissingIdentityError) {
    const reason = message.startsWith('role') ? 'NodeRoleNotFound' : 'InstanceProfileNotFound';
    return { status: 'False', reason, message };
  }
  if (isDomainError(error, 'NotFound')) return { status: 'False', reason: 'ResourceNotFound', message };
  if (isDomainError(error, 'Denied')) return { status: 'False', reason: 'Unauthorized', message };
  if (isTransient(error)) return { status: 'Unknown', reason: 'CloudUnavailable', message };
  return { status: 'False', reason: 'ResolutionFailed', message };
}
