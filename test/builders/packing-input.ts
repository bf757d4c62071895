import { capacityBuffers } from '../../api/autoscaling/capacity-buffer.js';
import { nodeClaims } from '../../api/karpenter/node-claim.js';
import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject } from '../../api/kubernetes.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { coreWellKnownLabels } from '../../api/labels.js';
import type { Case } from '../cases/index.js';
import { kwokWellKnownLabels, offeringLabels, parseCatalogue } from '../../cloud/kwok/catalogue.js';
import type { ClusterObjects, PackingInput } from '../../packing/types.js';

const lists: Readonly<Record<string, keyof ClusterObjects>> = {
  Pod: 'pods',
  Node: 'nodes',
  NodeClaim: 'nodeClaims',
  NodePool: 'nodePools',
  DaemonSet: 'daemonSets',
  PersistentVolumeClaim: 'persistentVolumeClaims',
  PersistentVolume: 'persistentVolumes',
  StorageClass: 'storageClasses',
  CSINode: 'csiNodes',
  PodDisruptionBudget: 'podDisruptionBudgets',
  NodeOverlay: 'nodeOverlays',
  CapacityBuffer: 'capacityBuffers',
  Deployment: 'deployments',
  PodTemplate: 'podTemplates',
  DisruptionPolicy: 'disruptionPolicies',
  Namespace: 'namespaces',
  Service: 'services',
  ReplicaSet: 'replicaSets',
};

/** A generated case as packing gets it from `stowage plan`: every pool buys from the one catalogue. */
export function packingInputOf({ objects, catalogue }: Case): PackingInput {
  const byList: Record<string, KubernetesObject[]> = { pods: [], nodePools: [] };
  for (const object of objects) {
    const list = lists[object.kind];
    if (list !== undefined) (byList[list] ??= []).push(parsed(object));
  }
  const cluster = byList as unknown as ClusterObjects;
  const types = parseCatalogue(JSON.stringify(catalogue));
  return {
    objects: cluster,
    catalogues: new Map(cluster.nodePools.map((pool) => [pool.metadata.name ?? '', types])),
    settings: {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      wellKnownLabels: [...new Set([...coreWellKnownLabels, ...kwokWellKnownLabels, ...offeringLabels(types)])].sort(),
      listedTypes: 60,
    },
    now: Date.parse('2026-01-02T00:00:00Z'),
  };
}

const parsers: Readonly<Record<string, { mustParse(object: unknown): KubernetesObject }>> = {
  NodePool: nodePools,
  NodeClaim: nodeClaims,
  NodeOverlay: nodeOverlays,
  CapacityBuffer: capacityBuffers,
  DisruptionPolicy: disruptionPolicies,
};

const parsed = (object: KubernetesObject): KubernetesObject => parsers[object.kind]?.mustParse(object) ?? object;
