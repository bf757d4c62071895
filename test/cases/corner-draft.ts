import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import type { CatalogueEntry } from '../checker/types.js';
import { type PartialSpec, type PoolOptions, pod, requestsOf } from './objects.js';
import type { Random } from './random.js';

export const zones = ['zone-1', 'zone-2', 'zone-3'];

export interface Draft {
  readonly random: Random;
  readonly catalogue: CatalogueEntry[];
  readonly pools: { name: string; options: PoolOptions }[];
  readonly objects: KubernetesObject[];
  readonly pods: Pod[];
}

/** Adds one trait to a case: pods that have it, and what of pools and objects goes with them. */
export type Trait = (draft: Draft, name: string, count: number) => void;

const cpus = ['100m', '250m', '500m', '1', '1500m', '2'];
const memories = ['128Mi', '256Mi', '512Mi', '1Gi', '2Gi', '4Gi'];
export const some = ({ random }: Draft): Record<string, string> => requestsOf(random.pick(cpus), random.pick(memories));

export function add(
  draft: Draft,
  name: string,
  count: number,
  spec: PartialSpec,
  labels: Record<string, string> = {},
): void {
  const requests = some(draft);
  for (let i = 0; i < count; i++) {
    draft.pods.push(
      pod(`${name}-${i}`, { app: name, ...labels }, draft.random.chance(0.7) ? requests : some(draft), spec),
    );
  }
}
