import type { KubernetesObject } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';

export interface NodeLabels {
  readonly nodePool: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
}

/** What a claim or node says it is; an empty text where it does not say. */
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

/** The NodePool of a claim in a sentence: one that somebody made by hand may have none. */
export const poolText = (nodePool: string): string => (nodePool === '' ? 'no NodePool' : `NodePool ${nodePool}`);
