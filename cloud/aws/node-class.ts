import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { gateIsOff } from '../../core/feature-gates.js';
import {
  type AmiFamily,
  type EC2NodeClass,
  type EC2NodeClassSpec,
  type EC2NodeClassStatus,
  restrictedTags,
} from '../../api/aws/ec2-node-class.js';
import { ec2NodeClassKubeletVerdict, resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import type { Condition } from '../../api/kubernetes.js';
import { type ConditionChange, conditionOf, isTrue, withCondition, withReady } from '../../core/conditions.js';
import { isDomainError, isTransient } from '../../core/failures.js';
import type { NodeClassResolution } from '../port.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import type { ClusterFacts } from './cluster-facts.js';
import { type Images, UnsupportedAliasError } from './images.js';
import { type InstanceProfiles, MissingIdentityError } from './instance-profiles.js';
import { findSecurityGroups, type Subnets } from './networks.js';
import type { PlacementGroups } from './placement-groups.js';
import type { Reservations } from './reservations.js';
import { specHash } from '../../core/drift-hash.js';
import { canonicalJson } from '../../core/hash.js';
import { messageOf } from '../../core/error-message.js';
import { kubeletOf } from './capacity.js';
import { hasExpressions, unreadableExpressions } from './kubelet-expressions.js';
import type { MachineTypes } from './machine-types.js';

/** Dependencies of validation. */
interface ValidationDeps {
  readonly facts: Pick<ClusterFacts, 'get'>;
  /** Whether kubelet settings may be expressions (gate NodeClassCEL). */
  readonly expressions: boolean;
  readonly machines: () => Promise<MachineTypes>;
  readonly reservedEnis: number;
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
async function validateNodeClass(
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
  { machines, reservedEnis }: ValidationDeps,
): Promise<ConditionChange | undefined> {
  if (!hasExpressions(spec.kubelet)) return undefined;
  try {
    const { infos } = await machines();
    const [first] = infos.flatMap((info) => expressionProblem(spec, info, reservedEnis));
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

function expressionProblem(spec: EC2NodeClassSpec, info: InstanceTypeInfo, reservedEnis: number): string[] {
  try {
    kubeletOf(info, { family: resolvedAmiFamily(spec), spec, reservedEnis });
    return [];
  } catch (error) {
    if (isDomainError(error, 'Invalid')) return [error.message];
    throw error;
  }
}

/** The condition for a failed call. */
function failureCondition(error: unknown): Omit<ConditionChange, 'type'> {
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

interface NodeClassDeps extends ValidationDeps {
  readonly calls: Pick<AwsCalls, 'describeSecurityGroups'>;
  readonly placementGroups: PlacementGroups;
  readonly clock: Clock;
  readonly facts: ClusterFacts;
  readonly subnets: Subnets;
  readonly reservations: Reservations;
  readonly images: Images;
  readonly profiles: InstanceProfiles;
  readonly caBundle: string | undefined;
  /** Whether capacity reservations are used (gate ReservedCapacity). */
  readonly reservedCapacity: boolean;
}

const ofReservations = 'CapacityReservationsReady';

/** The conditions that `Ready` depends on (node-classes/ready). */
const dependents = [
  'AMIsReady',
  'SubnetsReady',
  'SecurityGroupsReady',
  'InstanceProfileReady',
  'PlacementGroupReady',
  ofReservations,
  'ValidationSucceeded',
];

/** Ready does not depend on it: nodes are launched outside of reservations. */
const reservationsOff: ConditionChange = {
  type: ofReservations,
  ...gateIsOff('ReservedCapacity', 'no reservation is used'),
};

const minute = 60_000;

/** One part of the resolution: its result and its condition. */
interface Part {
  readonly found: Partial<EC2NodeClassStatus>;
  /** Absent: the previous condition stays. */
  readonly condition?: ConditionChange;
}

/**
 * Resolves an EC2NodeClass. Each part is resolved separately, so that a failure names its cause and does not hide
 * others (node-classes/ready).
 */
export class NodeClassResolver {
  constructor(private readonly deps: NodeClassDeps) {}

  async resolve(nodeClass: EC2NodeClass, pools: readonly NodePool[] = []): Promise<NodeClassResolution> {
    const parts = await Promise.all([
      this.subnets(nodeClass),
      this.securityGroups(nodeClass),
      this.images(nodeClass),
      this.instanceProfile(nodeClass),
      this.placementGroup(nodeClass),
      ...(this.deps.reservedCapacity ? [this.reservations(nodeClass)] : []),
    ]);
    const at = { now: this.deps.clock.now(), generation: nodeClass.metadata.generation };
    let status: EC2NodeClassStatus = { ...nodeClass.status };
    const needed = dependents.filter((type) => this.deps.reservedCapacity || type !== ofReservations);
    let conditions = (nodeClass.status?.conditions ?? []).filter(
      ({ type }) => needed.includes(type) || !dependents.includes(type),
    );
    for (const part of parts) {
      status = { ...status, ...part.found };
      if (part.condition !== undefined) conditions = withCondition(conditions, part.condition, at);
    }
    if (!this.deps.reservedCapacity && (nodeClass.spec.capacityReservationSelectorTerms ?? []).length > 0)
      conditions = withCondition(conditions, reservationsOff, at);
    const complete = parts.every((part) => part.condition === undefined || part.condition.status === 'True');
    const resolved = { ...nodeClass, status: { ...status, conditions } };
    conditions = withCondition(conditions, await validateNodeClass(this.deps, resolved, { complete, pools }), at);
    conditions = withReady(conditions, needed, at);
    const ready = isTrue(conditions, 'Ready');
    return {
      status: { ...status, conditions },
      annotations: this.hashes(nodeClass),
      events: [],
      requeueAfterMs: requeueAfterMs(nodeClass, conditions, ready),
    };
  }

  private hashes(nodeClass: EC2NodeClass): Record<string, string> {
    const amiFamily = resolvedAmiFamily(nodeClass.spec);
    return {
      [annotations.ec2NodeClassHash]: ec2NodeClassHash(nodeClass.spec, { amiFamily, caBundle: this.deps.caBundle }),
      [annotations.ec2NodeClassHashVersion]: ec2NodeClassHashVersion,
    };
  }

  private subnets({ spec, status }: EC2NodeClass): Promise<Part> {
    return this.part('SubnetsReady', { subnets: status?.subnets }, async () => {
      const subnets = await this.deps.subnets.find(spec.subnetSelectorTerms);
      if (subnets.length === 0)
        return missing('SubnetsNotFound', nothing('subnet', 'DescribeSubnets', spec.subnetSelectorTerms), {
          subnets: [],
        });
      return found({
        subnets: subnets.map(({ id, zone, zoneID }) => ({ id, zone, ...(zoneID === undefined ? {} : { zoneID }) })),
      });
    });
  }

  private securityGroups({ spec, status }: EC2NodeClass): Promise<Part> {
    return this.part('SecurityGroupsReady', { securityGroups: status?.securityGroups }, async () => {
      const securityGroups = await findSecurityGroups(this.deps.calls, spec.securityGroupSelectorTerms);
      if (securityGroups.length > 0) return found({ securityGroups });
      const message = nothing('securityGroup', 'DescribeSecurityGroups', spec.securityGroupSelectorTerms);
      return missing('SecurityGroupsNotFound', message, { securityGroups: [] });
    });
  }

  private images({ spec, status }: EC2NodeClass): Promise<Part> {
    return this.part('AMIsReady', { amis: status?.amis }, async () => {
      const amis = await this.deps.images.resolve(spec);
      if (amis.length > 0) return found({ amis });
      return missing('AMINotFound', nothing('ami', 'DescribeImages', spec.amiSelectorTerms), { amis: [] });
    });
  }

  private instanceProfile(nodeClass: EC2NodeClass): Promise<Part> {
    const previous = { instanceProfile: nodeClass.status?.instanceProfile };
    return this.part('InstanceProfileReady', previous, async () =>
      found({ instanceProfile: await this.deps.profiles.resolve(nodeClass) }),
    );
  }

  private reservations({ spec, status }: EC2NodeClass): Promise<Part> {
    return this.part(ofReservations, { capacityReservations: status?.capacityReservations }, async () => {
      const terms = spec.capacityReservationSelectorTerms ?? [];
      if (terms.length === 0) return found({});
      return found({ capacityReservations: await this.deps.reservations.find(terms) });
    });
  }

  private placementGroup({ spec }: EC2NodeClass): Promise<Part> {
    return this.part('PlacementGroupReady', {}, async () => {
      const selector = spec.placementGroupSelector;
      if (selector === undefined) return found({});
      if ((await this.deps.placementGroups.find(selector)) !== undefined) return found({});
      return missing('PlacementGroupNotFound', `placement group ${selector.name ?? selector.id ?? ''} does not exist`);
    });
  }

  /**
   * Runs one part. Denied and invalid calls give a False condition that names the call. While the cloud throttles or is
   * unavailable, the previous result stays, with its generation.
   */
  private async part(
    type: string,
    previous: Partial<EC2NodeClassStatus>,
    resolve: () => Promise<Pick<Part, 'found'> & { readonly problem?: { reason: string; message: string } }>,
  ): Promise<Part> {
    try {
      const { found: values, problem } = await resolve();
      if (problem === undefined) return { found: values, condition: { type, status: 'True' } };
      return { found: values, condition: { type, status: 'False', ...problem } };
    } catch (error) {
      if (isTransient(error) && Object.values(previous).some(isSomething)) return { found: previous };
      return { found: previous, condition: { type, ...failureCondition(error) } };
    }
  }
}

/** Subnets and reservations are resolved again every minute, with images and groups; IAM needs seconds. */
function requeueAfterMs({ spec }: EC2NodeClass, conditions: readonly Condition[], ready: boolean): number {
  const validation = conditionOf(conditions, 'ValidationSucceeded');
  if (validation?.status === 'Unknown' && validation.reason === 'InstanceProfileNotFound') return 10_000;
  return ready && (spec.capacityReservationSelectorTerms ?? []).length === 0 ? 5 * minute : minute;
}

function isSomething(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined;
}

function found(values: Partial<EC2NodeClassStatus>): { found: Partial<EC2NodeClassStatus> } {
  return { found: values };
}

const longestTerms = 200;

/** Message for a selector without a match, naming the call. */
function nothing(what: 'subnet' | 'securityGroup' | 'ami', call: string, terms: readonly object[]): string {
  const noun = { subnet: 'subnet', securityGroup: 'security group', ami: 'image' }[what];
  const asked = terms.map((term) => JSON.stringify(term)).join(' or ');
  const short = asked.length > longestTerms ? `${asked.slice(0, longestTerms)}...` : asked;
  return `spec.${what}SelectorTerms selects no ${noun}: ec2:${call} found none for ${short}`;
}

function missing(
  reason: string,
  message: string,
  values: Partial<EC2NodeClassStatus> = {},
): { found: Partial<EC2NodeClassStatus>; problem: { reason: string; message: string } } {
  return { found: values, problem: { reason, message } };
}

/** Differs from Karpenter's `v6` for the reason given at `nodePoolHashVersion` (node-pools/hash-version). */
export const ec2NodeClassHashVersion = 'stowage-v1';

interface NodeClassHashInputs {
  /** The effective image family: naming the family of the alias changes nothing (node-classes/family-in-effect). */
  readonly amiFamily: AmiFamily;
  /** The cluster's CA bundle, which user data carries. */
  readonly caBundle?: string | undefined;
}

/**
 * Hash of the fields of an EC2NodeClass that determine its nodes, for annotation `karpenter.k8s.aws/ec2nodeclass-hash`
 * (node-classes/hash): the spec except selectors, whose results drift by separate rules, and `ipPrefixCount`.
 */
export function ec2NodeClassHash(spec: EC2NodeClassSpec, inputs: NodeClassHashInputs): string {
  const { kubelet, blockDeviceMappings } = spec;
  const hashed = {
    ...spec,
    subnetSelectorTerms: undefined,
    securityGroupSelectorTerms: undefined,
    capacityReservationSelectorTerms: undefined,
    amiSelectorTerms: undefined,
    ipPrefixCount: undefined,
    amiFamily: inputs.amiFamily,
    // Only `true` has an effect.
    blockDeviceMappings: blockDeviceMappings?.map((device) => ({
      ...device,
      rootVolume: device.rootVolume === true ? true : undefined,
    })),
    kubelet: kubelet === undefined ? undefined : canonicalJson(kubelet),
    caBundle: inputs.caBundle,
  };
  return specHash(hashed);
}
