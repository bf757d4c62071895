import type { KubernetesObject } from '../../api/kubernetes.js';
import { add, some, zones, type Draft, type Trait } from './corner-draft.js';
import {
  type PartialSpec,
  capacityTypeKey,
  container,
  daemonSet,
  hostnameKey,
  inValues,
  instanceTypeKey,
  kwok,
  pod,
  requestsOf,
  runningNode,
  zoneKey,
} from './objects.js';
import { nodeLabels } from './realistic.js';

const reservationKey = 'karpenter.k8s.aws/capacity-reservation-id';
const driver = 'ebs.csi.aws.com';

/** What Karpenter has behind feature gates, what its peer does not model, and what Stowage adds. */
export const extensions: Readonly<Record<string, Trait>> = {
  overlays: (draft, name, count) => {
    const { random } = draft;
    const families = draft.catalogue.map(({ name: type }) => type);
    for (let i = 0; i < random.int(1, 4); i++) {
      const requirement = random.pick([
        inValues(instanceTypeKey, ...random.some(families, 1)),
        { key: instanceTypeKey, operator: 'NotIn' as const, values: random.some(families, 1) },
        inValues(capacityTypeKey, random.pick(['spot', 'on-demand'])),
        inValues(zoneKey, random.pick(zones)),
        { key: kwok.cpu, operator: 'Gt' as const, values: [String(random.pick([1, 2, 4, 8]))] },
        { key: 'example.com/nowhere', operator: 'Exists' as const },
      ]);
      const change = random.pick([
        { price: random.pick(['0.05', '1.5', '0']) },
        { priceAdjustment: random.pick(['+20%', '-30%', '-100%', '+0.25', '-0.1']) },
        { capacity: { 'example.com/device': String(random.int(1, 3)) } },
        { priceAdjustment: '-10%', capacity: { 'example.com/device': '2' } },
      ]);
      draft.objects.push({
        apiVersion: 'karpenter.sh/v1alpha1',
        kind: 'NodeOverlay',
        metadata: { name: `${name}-${i}` },
        spec: { requirements: [requirement], weight: random.int(1, 3), ...change },
      } as KubernetesObject);
    }
    add(draft, name, count, {});
    for (let i = 0; i < random.int(0, 3); i++) {
      draft.pods.push(
        pod(`${name}-device-${i}`, { app: name }, requestsOf('100m', '64Mi', { 'example.com/device': '1' })),
      );
    }
  },
  buffers: (draft, name, count) => {
    const { random } = draft;
    const template = {
      metadata: { labels: { app: name } },
      spec: {
        containers: [container(some(draft))],
        ...(random.chance(0.4) && { nodeSelector: { [zoneKey]: random.pick(zones) } }),
        ...(random.chance(0.3) && { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'left-out' } }] }),
      },
    };
    const scalable = random.chance(0.5);
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: 'default' },
      spec: { replicas: random.int(1, 20), selector: { matchLabels: { app: name } }, template },
    } as KubernetesObject;
    const podTemplate = {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name, namespace: 'default' },
      template,
    } as KubernetesObject;
    draft.objects.push(scalable ? deployment : podTemplate, {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name, namespace: 'default' },
      spec: {
        provisioningStrategy: random.chance(0.9) ? 'buffer.x-k8s.io/active-capacity' : 'example.com/elsewhere',
        ...(scalable
          ? { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name }, percentage: random.int(5, 60) }
          : { podTemplateRef: { name: random.chance(0.9) ? name : 'missing' }, replicas: random.int(1, 5) }),
        ...(random.chance(0.4) && { limits: { cpu: String(random.int(1, 6)) } }),
      },
    } as KubernetesObject);
    add(draft, name, count, {});
  },
  reservations: (draft, name, count) => {
    const { random } = draft;
    draft.catalogue.forEach((type, i) => {
      if (!random.chance(i === 0 ? 1 : 0.3)) return;
      const requirements = [
        inValues(capacityTypeKey, 'reserved'),
        inValues(zoneKey, random.pick(zones)),
        inValues(reservationKey, `cr-${name}-${i}`),
      ];
      const offering = {
        Price: 0.0001,
        Available: true,
        ReservationCapacity: random.int(1, 3),
        Requirements: requirements,
      };
      draft.catalogue[i] = { ...type, offerings: [...type.offerings, offering] };
    });
    add(draft, name, count, random.chance(0.3) ? { nodeSelector: { [capacityTypeKey]: 'reserved' } } : {});
  },
  attachLimits: (draft, name, count) => {
    const { random } = draft;
    draft.objects.push({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'anywhere' },
      provisioner: driver,
      volumeBindingMode: 'WaitForFirstConsumer',
    } as KubernetesObject);
    for (let i = 0; i < random.int(1, 3); i++) attachNode(draft, `${name}-${i}`, random.int(1, 4));
    for (let i = 0; i < Math.min(count, 10); i++) {
      const claims = Array.from({ length: random.int(1, 2) }, (_, k) => volumeClaim(draft, `${name}-${i}-${k}`));
      // Pods may share a volume, which then counts once.
      if (i > 0 && random.chance(0.3)) claims.push(`data-${name}-0-0`);
      draft.pods.push(pod(`${name}-${i}`, { app: name }, requestsOf('50m', '32Mi'), volumesOf(claims)));
    }
  },
  daemonPartners: (draft, name, count) => {
    const { random } = draft;
    const key = random.pick([zoneKey, zoneKey, hostnameKey, 'example.com/rack']);
    for (const { options } of draft.pools)
      options.labels = { ...options.labels, 'example.com/rack': random.pick(['x', 'y']) };
    if (random.chance(0.5)) draft.pools.push({ name: `agents-${name}`, options: { requirements: [], labels: { agents: name, 'example.com/rack': 'z' } } }); // prettier-ignore
    const nodeSelector = random.pick<Record<string, string>>([
      {},
      { agents: name },
      { [capacityTypeKey]: 'spot' },
      { [zoneKey]: random.pick(zones) },
      { [instanceTypeKey]: random.pick(draft.catalogue).name },
    ]);
    const term = (app: string) => ({
      labelSelector: { matchLabels: { app } },
      topologyKey: key,
      namespaceSelector: {},
    });
    const apart = (app: string) => ({
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] },
    });
    const daemon = `${name}-agent`;
    const affinity = random.chance(0.2) ? { affinity: apart(name) } : {};
    draft.objects.push(daemonSet(daemon, requestsOf('100m', '64Mi'), { nodeSelector, ...affinity }));
    for (let i = random.int(0, 2); i > 0; i--) agentNode(draft, `${name}-${i}`, daemon);
    const partner = random.pick(['apart', 'near', 'spread', 'spread'] as const);
    const before = draft.pods.length;
    if (partner === 'apart') add(draft, name, Math.min(count, 6), { affinity: apart(daemon) });
    else if (partner === 'near') {
      add(draft, name, count, {
        affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(daemon)] } },
      });
    } else {
      const labelSelector = { matchExpressions: [{ key: 'app', operator: 'In' as const, values: [name, daemon] }] };
      const constraint = { maxSkew: random.int(1, 2), topologyKey: key, whenUnsatisfiable: 'DoNotSchedule' as const };
      add(draft, name, count, { topologySpreadConstraints: [{ ...constraint, labelSelector }] });
      // A spread counts pods of its own namespace alone.
      for (const each of draft.pods.slice(before)) each.metadata.namespace = 'kube-system';
    }
    add(draft, `${name}-others`, count, {});
  },
  /** Pods on a node that is being deleted, some of which it cannot go without, and terminating pods beside others. */
  heldBack: (draft, name, count) => {
    const { random } = draft;
    for (let i = 0; i < random.int(1, 2); i++) {
      const goes = random.chance(0.7);
      const type = random.pick(draft.catalogue);
      const labels = nodeLabels(type, random.pick(type.offerings));
      const node = {
        name: `${name}-${i}`,
        pool: draft.pools[0]!.name,
        labels,
        allocatable: { pods: '110', ...type.resources },
      };
      const made = runningNode(node);
      for (const { metadata } of goes ? made : []) {
        metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
        metadata.finalizers = ['karpenter.sh/termination'];
      }
      draft.objects.push(...made);
      for (let k = random.int(1, 3); k > 0; k--) {
        const running = pod(`running-${name}-${i}-${k}`, { app: name }, requestsOf('100m', '64Mi'), {
          nodeName: node.name,
        });
        const draw = random.next();
        if (draw < 0.5) running.metadata.annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
        else if (draw < 0.75) running.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
        draft.objects.push(running);
      }
    }
    add(draft, name, count, drawPartner(draft, name));
  },
  namespaces: (draft, name, count) => {
    const { random } = draft;
    const names = ['one', 'two', 'three'].map((each) => `${name}-${each}`);
    for (const each of names) {
      const labels = { 'kubernetes.io/metadata.name': each, tier: random.pick(['front', 'back']) };
      draft.objects.push({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: each, labels } });
    }
    for (const namespace of names) {
      const before = draft.pods.length;
      const others = random.pick([{}, { namespaceSelector: {} }, { namespaceSelector: { matchLabels: { tier: 'front' } } }, { namespaces: [names[0]!] }]); // prettier-ignore
      add(draft, `${namespace}-${random.pick(['a', 'b'])}`, Math.ceil(count / 3), drawPartner(draft, name, others), {
        app: name,
      });
      for (const { metadata } of draft.pods.slice(before)) metadata.namespace = namespace;
    }
  },
  staticVolumes: (draft, name, count) => {
    const { random } = draft;
    draft.objects.push({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'static' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    } as KubernetesObject);
    for (let i = 0; i < Math.min(count, 6); i++) {
      const at = random.chance(0.8) ? [{ matchExpressions: [inValues(zoneKey, ...random.some(zones, 1))] }] : undefined;
      draft.objects.push({
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `${name}-${i}` },
        spec: {
          storageClassName: 'static',
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: random.pick(['1Gi', '2Gi', '4Gi']) },
          ...(at && { nodeAffinity: { required: { nodeSelectorTerms: at } } }),
        },
        status: { phase: random.chance(0.8) ? 'Available' : 'Released' },
      } as KubernetesObject);
      draft.objects.push({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: `${name}-${i}`, namespace: 'default' },
        spec: {
          storageClassName: 'static',
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: random.pick(['1Gi', '2Gi']) } },
        },
        status: { phase: 'Pending' },
      } as KubernetesObject);
      draft.pods.push(
        pod(`${name}-${i}`, { app: name }, some(draft), {
          ...drawPartner(draft, name),
          ...volumesOf([`${name}-${i}`]),
        }),
      );
    }
  },
  podResources: (draft, name, count) => {
    for (let i = 0; i < count; i++) {
      const resources = { requests: some(draft) };
      draft.pods.push(
        pod(`${name}-${i}`, { app: name }, requestsOf('50m', '32Mi'), { resources, ...drawPartner(draft, name) }),
      );
    }
  },
  spotRatio: (draft, name, count) => {
    const { random } = draft;
    draft.pools.push({ name: `mixed-${name}`, options: { weight: 50, requirements: [] } });
    draft.objects.push({
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name },
      spec: {
        spotRatio: {
          spotPercent: random.pick([0, 30, 50, 70, 100]),
          ...(random.chance(0.3) && { minimumOnDemandVCPU: random.int(1, 8) }),
        },
      },
    } as KubernetesObject);
    add(draft, name, count, {});
  },
};

/** One rule that selects pods of the app, or none. */
function drawPartner({ random }: Draft, app: string, others: object = {}): PartialSpec {
  const topologyKey = random.pick([zoneKey, hostnameKey]);
  const term = { topologyKey, labelSelector: { matchLabels: { app } } };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, ...others }] };
  return random.pick<PartialSpec>([
    {},
    { affinity: { podAffinity: required } },
    { affinity: { podAntiAffinity: required } },
    { topologySpreadConstraints: [{ ...term, maxSkew: random.int(1, 2), whenUnsatisfiable: 'DoNotSchedule' }] },
  ]);
}

/** A node on which the DaemonSet runs, or on which it is to run once the node is initialized. */
function agentNode(draft: Draft, name: string, daemon: string): void {
  const { random } = draft;
  const type = random.pick(draft.catalogue);
  const initialized = random.chance(0.5);
  const pool = random.pick(draft.pools);
  const labels = { ...nodeLabels(type, random.pick(type.offerings)), ...pool.options.labels };
  const allocatable = { pods: '110', ...type.resources };
  draft.objects.push(...runningNode({ name, pool: pool.name, labels, allocatable, initialized }));
  if (!initialized || random.chance(0.3)) return;
  const made = pod(`${daemon}-${name}`, { app: daemon }, requestsOf('100m', '64Mi'), { nodeName: name });
  made.metadata.namespace = 'kube-system';
  made.metadata.ownerReferences = [
    { apiVersion: 'apps/v1', kind: 'DaemonSet', name: daemon, uid: `ds-${daemon}`, controller: true },
  ];
  draft.objects.push(made);
}

function volumeClaim(draft: Draft, name: string): string {
  draft.objects.push({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: `data-${name}`, namespace: 'default' },
    spec: { storageClassName: 'anywhere', accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  } as KubernetesObject);
  return `data-${name}`;
}

const volumesOf = (claims: readonly string[]) => ({
  volumes: claims.map((claimName, i) => ({ name: `volume-${i}`, persistentVolumeClaim: { claimName } })),
});

/** A node with room for pods, some volumes attached, and room for few more. */
function attachNode(draft: Draft, name: string, limit: number): void {
  const { random } = draft;
  const type = random.pick(draft.catalogue);
  const node = {
    name,
    pool: draft.pools[0]?.name ?? 'default',
    labels: nodeLabels(type, random.pick(type.offerings)),
    allocatable: { pods: '110', ...type.resources },
  };
  draft.objects.push(...runningNode(node), {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name },
    spec: { drivers: [{ name: driver, nodeID: name, ...(random.chance(0.9) && { allocatable: { count: limit } }) }] },
  } as KubernetesObject);
  if (random.chance(0.7)) {
    const volumes = volumesOf([volumeClaim(draft, `running-${name}`)]);
    draft.objects.push(pod(`running-${name}`, { app: name }, requestsOf('10m', '8Mi'), { nodeName: name, ...volumes }));
  }
}
