import { nodePools } from '../../../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { managedPools } from '../../../cluster/cluster.js';
import { packingInput } from '../../../cluster/packing-input.js';
import type { Kind } from '../../../kube/port.js';
import { plan } from '../../../packing/plan.js';
import type { Plan } from '../../../packing/types.js';
import { createActivityWorld, nodeClass, type ActivityWorld } from '../../builders/activity-world.js';
import type { Check } from '../conformance-case.js';
import { flat, node, pod, pool, type NodeOptions, type PodOptions } from '../world.js';

type Objects = readonly (KubernetesObject | readonly KubernetesObject[])[];

/** A cluster as the watch cache has it, whose objects come, change and go. */
export interface Observed extends ActivityWorld {
  put(...objects: Objects): Promise<void>;
  remove(kind: Kind, name: string): Promise<void>;
  /** What a plan makes of these pods beside what there is; `without`: nodes that are taken for gone. */
  plan(pods: readonly Pod[], without?: readonly string[]): Promise<Plan>;
  /** CPUs that are still free on a node, by halves. */
  free(name: string): Promise<number>;
  /** Whether a pod would be put on the node. */
  takes(name: string, options?: PodOptions): Promise<boolean>;
}

/** Plays a case on the cache of a cluster with a NodePool `default`, whose answer has to be `expected`. */
export const observed = (expected: unknown, play: (it: Observed) => unknown): Check => ({
  expected,
  outcome: async () => {
    const world = await createActivityWorld();
    try {
      const it = observe(world);
      world.kube.put('EC2NodeClass', nodeClass('default'));
      await it.put(nodePools.mustParse(pool()));
      return await play(it);
    } finally {
      world.stop();
    }
  },
});

function observe(world: ActivityWorld): Observed {
  const { kube, deps } = world;
  const synced = (): Promise<void> => world.synced();
  const planOf: Observed['plan'] = async (pods, without = []) => {
    const input = await packingInput(deps, managedPools(deps), without);
    return plan({ ...input, objects: { ...input.objects, pods: [...input.objects.pods, ...pods] } });
  };
  const on = (name: string) => ({ nodeSelector: { [labels.hostname]: name } });
  const placed = async (name: string, pods: readonly Pod[]): Promise<number> =>
    (await planOf(pods)).existingNodes.find((each) => each.node === name)?.pods.length ?? 0;
  return {
    ...world,
    put: async (...objects) => {
      for (const object of flat(objects)) kube.put(object.kind as Kind, object);
      await synced();
    },
    remove: async (kind, name) => {
      const object = kube.objects(kind).find(({ metadata }) => metadata.name === name);
      kube.remove(kind, { name, namespace: object?.metadata.namespace });
      await synced();
    },
    plan: planOf,
    free: async (name) =>
      (await placed(
        name,
        Array.from({ length: 40 }, (_, i) => pod(`probe-${i}`, { cpu: '500m', ...on(name) })),
      )) / 2,
    takes: async (name, options = {}) => (await placed(name, [pod('probe', { ...options, ...on(name) })])) === 1,
  };
}

/** A node of 4 CPUs with room for many pods. */
export const roomy = (name = 'n', options: NodeOptions = {}): KubernetesObject[] =>
  node(name, { ...options, allocatable: { cpu: '4', memory: '8Gi', pods: '100', ...options.allocatable } });

/** A pod that runs on `n`, unless another node is named. */
export const bound = (name: string, options: PodOptions = {}): Pod => pod(name, { nodeName: 'n', ...options });

/** The same objects, some of them changed by their kind. */
export const changed = (
  objects: readonly KubernetesObject[],
  kind: string,
  change: (object: Readonly<Record<string, object>>) => object,
): KubernetesObject[] =>
  objects.map((each) =>
    each.kind === kind ? { ...each, ...change(each as unknown as Record<string, object>) } : each,
  );

/** The same objects, those of the kind on their way out. */
export const leaving = (objects: readonly KubernetesObject[], kind: string): KubernetesObject[] =>
  changed(objects, kind, ({ metadata }) => ({
    metadata: { ...metadata, finalizers: ['karpenter.sh/termination'], deletionTimestamp: '2026-01-05T11:59:00Z' },
  }));
