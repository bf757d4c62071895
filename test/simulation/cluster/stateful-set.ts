import type { Pod } from '../../../api/kubernetes.js';
import { pod } from '../../cases/objects.js';
import { latencies } from '../scale-down/latencies.js';
import { ScaledPods, type Replicas } from '../scale-down/workloads.js';
import type { ClusterParts } from '../scale-down/world.js';
import { isDeleting } from '../../../core/names.js';

/**
 * A StatefulSet and its controller (podManagementPolicy `Parallel`): a pod comes back under the name that it had, once the one before is gone,
 * and to the volume that it had.
 */
export class StatefulSet extends ScaledPods {
  constructor(world: ClusterParts, template: Replicas) {
    super(world, template);
    world.cache.on('Pod', ({ type, object }) => {
      if (type === 'deleted' && object.metadata.labels?.['app'] === this.app) void this.fill(latencies.replicaMs);
    });
  }

  /** The last ones go first. */
  async scaleDown(wanted: number): Promise<void> {
    this.wanted = wanted;
    for (const each of this.own()) {
      const ref = { name: each.metadata.name ?? '', namespace: 'default' };
      if (ordinalOf(each) >= wanted && !isDeleting(each)) await this.world.kube.delete('Pod', ref);
    }
  }

  async resume(): Promise<void> {
    await this.scaleDown(this.wanted);
    await this.fill(latencies.replicaMs);
  }

  private own(): readonly Pod[] {
    return this.world.kube.kept('Pod').filter(({ metadata }) => metadata.labels?.['app'] === this.app);
  }

  protected async fill(afterMs: number): Promise<void> {
    await this.world.clock.sleep(afterMs);
    const there = new Set(this.own().map(ordinalOf));
    for (let ordinal = 0; ordinal < this.wanted; ordinal++) if (!there.has(ordinal)) this.make(ordinal);
  }

  private make(ordinal: number): void {
    const { kube, clock } = this.world;
    const { app, requests, graceSeconds = 0, spec } = this.template;
    const name = `${app}-${ordinal}`;
    const claimName = `data-${name}`;
    if (!kube.kept('PersistentVolumeClaim').some(({ metadata }) => metadata.name === claimName)) {
      const claim = { storageClassName: storageClass, resources: { requests: { storage: '10Gi' } } };
      kube.put('PersistentVolumeClaim', {
        metadata: { name: claimName, namespace: 'default' },
        spec: claim,
        status: { phase: 'Pending' },
      });
    }
    const made = pod(name, { app }, requests, {
      ...spec,
      terminationGracePeriodSeconds: graceSeconds,
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    });
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'StatefulSet', name: app, uid: `sts-${app}`, controller: true },
    ];
    const creationTimestamp = new Date(clock.now).toISOString();
    const metadata = { name, namespace: 'default', labels: { app }, ownerReferences, creationTimestamp };
    kube.put('Pod', { ...made, metadata, status: { phase: 'Pending' } });
  }
}

/** The name of the StorageClass of its volumes. */
export const storageClass = 'zonal';

const ordinalOf = ({ metadata }: Pod): number => Number(metadata.name?.split('-').at(-1));
