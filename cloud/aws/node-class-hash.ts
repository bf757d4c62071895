import type { AmiFamily, EC2NodeClassSpec } from '../../api/aws/ec2-node-class.js';
import { specHash } from '../../core/drift-hash.js';
import { canonicalJson } from '../../core/hash.js';

/** Another version than Karpenter's `v6`, for the reason that stands at `nodePoolHashVersion` (node-pools/hash-version). */
export const ec2NodeClassHashVersion = 'stowage-v1';

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
  return specHash(hashed);
}
