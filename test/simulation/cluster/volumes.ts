import type { Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import type { SimulatedCluster } from './world.js';
import { storageClass } from './stateful-set.js';

const driver = 'ebs.csi.aws.com';

/** The CSI driver's provisioner: a claim gets its volume in the zone of the node that its first pod is bound to, and the pod stays in that zone. */
export class Volumes {
  private made = 0;

  constructor(private readonly cluster: Pick<SimulatedCluster, 'kube' | 'cache'>) {
    cluster.kube.put('StorageClass', {
      metadata: { name: storageClass },
      provisioner: driver,
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    cluster.cache.on('Pod', ({ object, previous }) => {
      const isBound = (object.spec.nodeName ?? '') !== '' && (previous?.spec.nodeName ?? '') === '';
      if (isBound && object.spec.volumes !== undefined) this.provision(object);
    });
  }

  private provision({ metadata, spec }: Pod): void {
    const { kube } = this.cluster;
    const zone = kube.kept('Node').find((node) => node.metadata.name === spec.nodeName)?.metadata.labels?.[labels.zone];
    if (zone === undefined) return;
    for (const { persistentVolumeClaim } of spec.volumes ?? []) {
      if (persistentVolumeClaim === undefined) continue;
      const ref = { name: persistentVolumeClaim.claimName, namespace: metadata.namespace ?? 'default' };
      const claim = kube.kept('PersistentVolumeClaim').find((each) => each.metadata.name === ref.name);
      if (claim === undefined || (claim.spec.volumeName ?? '') !== '') continue;
      this.made += 1;
      const name = `pv-${this.made}`;
      const inZone = [{ key: labels.zone, operator: 'In' as const, values: [zone] }];
      kube.put('PersistentVolume', {
        metadata: { name },
        spec: {
          csi: { driver, volumeHandle: `vol-${this.made}` },
          storageClassName: storageClass,
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: inZone }] } },
        },
        status: { phase: 'Bound' },
      });
      const isBound = { 'pv.kubernetes.io/bind-completed': 'yes' };
      void kube.patch('PersistentVolumeClaim', ref, { metadata: { annotations: isBound }, spec: { volumeName: name } });
      void kube.patch('PersistentVolumeClaim', ref, { status: { phase: 'Bound' } }, { subresource: 'status' });
    }
  }
}
