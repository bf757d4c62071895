import type { AmiFamily, EC2NodeClassSpec } from '../api/aws/ec2-node-class.js';
import type { NodePoolTemplate } from '../api/karpenter/node-pool.js';
import { parseNillableDuration } from './durations.js';
import { canonicalJson, hashText } from './hash.js';

/**
 * The version that stands beside each hash. It differs from Karpenter's own (`v3`, `v6`) because the algorithm does:
 * on adoption, and on going back, the foreign version makes the hash be rewritten instead of compared, so that no
 * node drifts for it (node-pools/hash-version).
 */
export const nodePoolHashVersion = 'stowage-v1';
export const ec2NodeClassHashVersion = 'stowage-v1';

/** Fields whose entries count even when their value is empty: a label with no value is a label. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'tags']);

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** The value with lists as sets and without what says nothing, so that equal meanings have equal texts. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => canonicalJson(normal(item))).sort();
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, maps.has(name) ? inner : normal(inner)] as const);
  return Object.fromEntries(entries.filter(([, inner]) => !isNothing(inner)));
}

/** A duration as milliseconds, so that `60m` and `1h` are one. */
function milliseconds(duration: string | undefined): number | string | undefined {
  if (duration === undefined) return undefined;
  return duration === 'Never' ? duration : parseNillableDuration(duration);
}

/**
 * The hash of what a NodePool's nodes are made from, for annotation `karpenter.sh/nodepool-hash` (node-pools/template-hash): the
 * whole template but its requirements. Lists are sets, empty values count as absent.
 */
export function nodePoolHash(template: NodePoolTemplate): string {
  const { expireAfter, terminationGracePeriod } = template.spec;
  const hashed = {
    metadata: template.metadata,
    spec: {
      ...template.spec,
      requirements: undefined,
      expireAfter: milliseconds(expireAfter),
      terminationGracePeriod: milliseconds(terminationGracePeriod),
    },
  };
  return hashText(canonicalJson(normal(hashed)));
}

export interface NodeClassHashInputs {
  /** The image family in effect: naming the alias's own family changes nothing (node-classes/family-in-effect). */
  readonly amiFamily: AmiFamily;
  /** The cluster's CA bundle, which user data carries. */
  readonly caBundle?: string | undefined;
}

/**
 * The hash of what an EC2NodeClass makes nodes from, for annotation `karpenter.k8s.aws/ec2nodeclass-hash` (node-classes/hash):
 * the spec but for what is found by selectors, which drifts by its own rules, and `ipPrefixCount`.
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
    // Only `true` says something.
    blockDeviceMappings: blockDeviceMappings?.map((device) => ({
      ...device,
      rootVolume: device.rootVolume === true ? true : undefined,
    })),
    kubelet: kubelet === undefined ? undefined : canonicalJson(kubelet),
    caBundle: inputs.caBundle,
  };
  return hashText(canonicalJson(normal(hashed)));
}

/** A hash annotation and its version annotation, as they stand on an object. */
export interface HashStamp {
  readonly hash: string | undefined;
  readonly version: string | undefined;
}

/** Whether a claim drifted from its pool or node class: both hashes are there, of one version, and differ (drift/hashes). */
export function hashDrifted(claim: HashStamp, current: HashStamp): boolean {
  if (claim.hash === undefined || current.hash === undefined) return false;
  return claim.version !== undefined && claim.version === current.version && claim.hash !== current.hash;
}

/**
 * What a claim's hash annotations must become when `current` is of another version (node-pools/hash-version): the version always,
 * the hash unless the claim already carries a Drifted condition; undefined when the versions agree.
 */
export function migratedStamp(claim: HashStamp, current: HashStamp, drifted: boolean): HashStamp | undefined {
  if (claim.version === current.version) return undefined;
  return { version: current.version, hash: drifted ? claim.hash : current.hash };
}
