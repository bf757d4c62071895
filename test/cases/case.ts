import type { KubernetesObject } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';

/** What both engines read: a cluster and what can be bought. */
export interface Case {
  readonly objects: readonly KubernetesObject[];
  readonly catalogue: readonly CatalogueEntry[];
}
