import type { AmiFamily } from '../../../api/aws/ec2-node-class.js';
import type { Taint } from '../../../api/kubernetes.js';
import { compareText } from '../../../core/text.js';

/** Input of a node's user data (launch-templates/user-data). */
export interface UserDataInput {
  readonly family: AmiFamily;
  readonly clusterName: string;
  readonly clusterEndpoint: string;
  /** Base64 of PEM, as EKS gives it. */
  readonly caBundle: string | undefined;
  /** Address range of the cluster's services, such as 10.100.0.0/16; AL2023 needs it. */
  readonly serviceCidr: string | undefined;
  /** `spec.kubelet` of the node class, unchanged. */
  readonly kubelet: Readonly<Record<string, unknown>>;
  readonly maxPods: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Taints and startup taints; the unregistered taint is added. */
  readonly taints: readonly Taint[];
  /** `spec.userData` of the node class. */
  readonly custom: string | undefined;
  readonly raid0: boolean;
  /** Whether Bottlerocket binds directories to local disks by default. */
  readonly bindsByDefault: boolean;
}

const withheld = ['kubernetes.io', 'k8s.io', 'node-restriction.kubernetes.io'];

/** Labels that kubelet may set on its node; Stowage sets those in the domains of Kubernetes. */
export function kubeletLabels(labels: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(labels)
    .filter(([key]) => {
      const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
      return !withheld.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
    })
    .sort(([a], [b]) => compareText(a, b));
}

/** `key=value:effect`, as kubelet's flag has it. */
export function kubeletTaintText({ key, value, effect }: Taint): string {
  return `${key}=${value ?? ''}:${effect}`;
}
