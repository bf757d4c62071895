import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import type { NodeClass } from '../cloud/port.js';
import { digestOf } from '../core/hash.js';
import { nodePoolHash } from '../disruption/drift/template-hash.js';

const selected = ['amis', 'securityGroups', 'subnets'] as const;

/**
 * Hash of what makes nodes of the pool drift: its template and requirements, its node class, and what that resolves to.
 */
export function rolloutHash(pool: NodePool, nodeClass: NodeClass | undefined): string {
  const status = (nodeClass?.status ?? {}) as Partial<Record<(typeof selected)[number], readonly { id?: string }[]>>;
  const ids = selected.map((key) => (status[key] ?? []).map(({ id }) => id ?? '').sort());
  const hash = nodeClass?.metadata.annotations?.[annotations.ec2NodeClassHash];
  const { template } = pool.spec;
  return digestOf([nodePoolHash(template), template.spec.requirements, hash, ids]);
}
