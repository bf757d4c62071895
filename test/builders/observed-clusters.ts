import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Node } from '../../api/kubernetes.js';
import { annotations, finalizers, labels } from '../../api/labels.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { ObservedCluster } from '../../operator/observed-cluster.js';
import { nodeClaim, nodeClass, nodePool } from './activity-world.js';

// Clusters as the reconciler of workflows sees them, of every situation that asks for a workflow, and of some that ask for none.

const now = Date.parse('2026-01-05T12:00:00Z');
export const created = '2026-01-05T11:00:00Z';

export const cluster = (more: Partial<ObservedCluster> = {}): ObservedCluster => ({
  cluster: 'test',
  gates: { NodeRepair: true, StaticCapacity: true },
  now,
  claims: [],
  pools: [],
  policies: [],
  repairPolicies: [{ conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 60_000 }],
  nodeOf: () => undefined,
  nodeClassOf: () => undefined,
  ...more,
});

export type Stage = 'new' | 'launching' | 'initialized' | 'never expires' | 'declined' | 'deleted' | 'released';

export const claimAt = (stage: Stage, name: string): NodeClaim => {
  const up = ['initialized', 'never expires', 'declined'].includes(stage);
  const base = nodeClaim(name, {
    // Others expire now.
    spec: { expireAfter: stage === 'never expires' ? 'Never' : '1h' },
    status: up ? { conditions: [{ type: 'Initialized', status: 'True' }] } : {},
  });
  return {
    ...base,
    metadata: {
      ...base.metadata,
      creationTimestamp: stage === 'new' ? new Date(now - 100).toISOString() : created,
      ...(stage === 'declined' ? { annotations: { [annotations.expirationDeclined]: 'ann: keep it' } } : {}),
      ...(stage === 'deleted' || stage === 'released' ? { deletionTimestamp: created } : {}),
      finalizers: stage === 'released' ? [] : [finalizers.termination],
    },
  };
};

/** What of a cluster asks for a workflow, or for none: claims with their nodes, and NodePools. */
export type Situation = Stage | 'unhealthy' | 'interrupted' | 'node deleted' | 'static pool' | 'drifted pool';
export const situations: readonly Situation[] = [
  ...(['new', 'launching', 'initialized', 'never expires', 'declined', 'deleted', 'released'] as const),
  ...(['unhealthy', 'interrupted', 'node deleted', 'static pool', 'drifted pool'] as const),
];

export function clusterOf(all: readonly Situation[]): ObservedCluster {
  const claims: NodeClaim[] = [];
  const pools: NodePool[] = [];
  const nodes = new Map<string, Node>();
  for (const [n, situation] of all.entries()) add(situation, `${situation.replaceAll(' ', '-')}-${n}`);
  const policy = disruptionPolicies.mustParse({
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: 'waves' },
    spec: { driftRollout: {} },
  });
  const nodeOf = ({ metadata }: NodeClaim): Node | undefined => nodes.get(metadata.name ?? '');
  return cluster({ claims, pools, policies: [policy], nodeOf, nodeClassOf: () => nodeClass('default') });

  function add(situation: Situation, name: string): void {
    const stable = claimAt('initialized', name);
    const node = (metadata: object, status = {}): Node => ({
      ...{ apiVersion: 'v1', kind: 'Node', status },
      metadata: { name, labels: { [labels.registered]: 'true' }, ...metadata },
    });
    switch (situation) {
      case 'unhealthy': {
        const conditions = ['Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const }));
        claims.push({ ...stable, status: { conditions } });
        nodes.set(name, node({}, { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: created }] }));
        return;
      }
      case 'interrupted': {
        const noted = { [annotations.interruption]: '{"kind":"spot_interrupted","at":5}' };
        const status = { ...stable.status, providerID: `aws:///a/i-${name}` };
        claims.push({ ...stable, metadata: { ...stable.metadata, annotations: noted }, status });
        return;
      }
      case 'node deleted':
        claims.push(stable);
        nodes.set(name, node({ deletionTimestamp: created }));
        return;
      case 'static pool':
        pools.push(nodePool(name, { replicas: 2 }));
        return;
      case 'drifted pool': {
        pools.push(nodePool(name));
        const conditions = ['Initialized', 'Drifted'].map((type) => ({ type, status: 'True' as const }));
        const label = { ...stable.metadata.labels, [labels.nodePool]: name };
        claims.push({ ...stable, metadata: { ...stable.metadata, labels: label }, status: { conditions } });
        return;
      }
      default:
        claims.push(claimAt(situation, name));
    }
  }
}
