import type { KubernetesObject, PodTemplateSpec } from '../../../api/kubernetes.js';
import { container, requestsOf, zoneKey } from '../objects.js';
import type { Random } from '../random.js';
import { claimSpec, hostileNamespace, hostileTemplate } from './pods.js';
import { requiredTerms, selectorOf } from './selectors.js';
import { annotationsOf, labelValue, labelsOf, manyOf, strangeKey } from './words.js';

type Maker = (random: Random, name: string) => KubernetesObject;

const object =
  (
    apiVersion: string,
    kind: string,
    namespace: string | undefined,
    make: (random: Random, name: string) => object,
  ): Maker =>
  (random, name) => ({
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: labelsOf(random),
      annotations: annotationsOf(random),
    },
    ...make(random, name),
  });

/** Small enough that what a DaemonSet takes of each node by right does not matter. */
function daemonTemplate(random: Random): object {
  const { metadata, spec } = templateOfApp(random);
  const containers = [container(requestsOf('1m', '1Mi'))];
  return { metadata, spec: { ...spec, nodeName: undefined, initContainers: undefined, containers } };
}

const app = { matchLabels: { app: 'hostile' } };

function templateOfApp(random: Random): PodTemplateSpec {
  const { metadata, spec } = hostileTemplate(random);
  return { metadata: { ...metadata, labels: { ...metadata?.labels, app: 'hostile' } }, spec };
}

/** Objects other than pods and NodePools. */
export const others: readonly Maker[] = [
  object('apps/v1', 'DaemonSet', hostileNamespace, (random) => ({ spec: { selector: app, template: daemonTemplate(random) } })),
  object('autoscaling.x-k8s.io/v1beta1', 'CapacityBuffer', hostileNamespace, (random) => ({
    spec: random.chance(0.5)
      ? { podTemplateRef: { name: random.pick(['constructor', 'missing']) }, replicas: random.pick([0, 1, 5]) }
      : { scalableRef: { apiGroup: 'apps', kind: random.pick(['Deployment', 'constructor', '__proto__']), name: 'constructor' }, percentage: random.pick([0, 100, 2147483647]) },
  })),
  object('v1', 'PodTemplate', hostileNamespace, (random) => ({ template: templateOfApp(random) })),
  object('apps/v1', 'Deployment', hostileNamespace, (random) => ({ spec: { replicas: 0, selector: app, template: templateOfApp(random) } })),
  object('apps/v1', 'ReplicaSet', hostileNamespace, (random) => ({ spec: { replicas: 0, selector: app, template: templateOfApp(random) } })),
  object('v1', 'Service', hostileNamespace, (random) => ({ spec: { selector: labelsOf(random), ports: [{ port: 80 }] } })),
  object('policy/v1', 'PodDisruptionBudget', hostileNamespace, (random) => ({
    spec: {
      selector: selectorOf(random),
      ...(random.chance(0.5) ? { maxUnavailable: random.pick<number | string>([0, '0%', '100%', 2147483647]) } : { minAvailable: random.pick<number | string>([0, '100%', 2147483647]) }),
    },
  })),
  object('v1', 'PersistentVolumeClaim', hostileNamespace, (random) => ({ spec: claimSpec(random) })),
  object('v1', 'PersistentVolume', undefined, (random) => ({
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'constructor',
      csi: { driver: 'constructor', volumeHandle: '__proto__' },
      nodeAffinity: { required: { nodeSelectorTerms: requiredTerms(random).slice(0, 20) } },
    },
  })),
  object('storage.k8s.io/v1', 'StorageClass', undefined, (random) => ({
    provisioner: 'constructor',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: random.chance(0.5) ? zoneKey : strangeKey(random), values: [...new Set(manyOf(3, () => labelValue(random)))] }] }],
  })),
  object('v1', 'Namespace', undefined, () => ({})),
]; // prettier-ignore
