import type { KubernetesObject } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';

interface NodeLabels {
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
}

/** Labels of a claim or node; empty where missing. */
export function labelsOf({ metadata }: KubernetesObject): NodeLabels {
  const own = metadata.labels ?? {};
  return {
    nodePool: own[labels.nodePool] ?? '',
    instanceType: own[labels.instanceType] ?? '',
    zone: own[labels.zone] ?? '',
    capacityType: own[labels.capacityType] ?? '',
  };
}

/** Name and UID of an object that the API server has. */
export function identityOf({ metadata }: KubernetesObject): { readonly name: string; readonly uid: string } {
  return { name: metadata.name ?? '', uid: metadata.uid ?? '' };
}

/** The NodePool of a claim, for messages. A claim created by a user may have none. */
export const poolText = (nodePool: string): string => (nodePool === '' ? 'no NodePool' : `NodePool ${nodePool}`);
