import type { Container, Pod, PodSpec, PodTemplateSpec, PodVolume, Toleration } from '../../../api/kubernetes.js';
import { container, pod } from '../objects.js';
import type { Random } from '../random.js';
import { podTerms, preferredTerms, requiredTerms, spreadOf, weightedPodTerms } from './selectors.js';
import { aNumber, annotationsOf, inherited, labelValue, labelsOf, manyOf, strangeKey } from './words.js';

export const hostileNamespace = 'hostile';

type Trait = (random: Random) => Partial<PodSpec>;

const traits = {
  selector: (random) => ({ nodeSelector: labelsOf(random, random.chance(0.05) ? 200 : 4) }),
  openValue: (random) => ({ nodeSelector: { 'example.com/open': `v${random.int(0, 3000)}` } }),
  openKeys: (random) => ({ nodeSelector: manyKeys(random) }),
  preferredNodes: (random) => ({
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferredTerms(random) } },
  }),
  requiredNodes: (random) => ({
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: requiredTerms(random) } },
    },
  }),
  apart: (random) => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: podTerms(random) } },
  }),
  near: (random) => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: podTerms(random) } },
  }),
  preferredApart: (random) => ({
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weightedPodTerms(random) } },
  }),
  preferredNear: (random) => ({
    affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weightedPodTerms(random) } },
  }),
  spread: (random) => ({ topologySpreadConstraints: spreadOf(random) }),
  tolerations: (random) => ({ tolerations: tolerationsOf(random) }),
  volumes: (random) => ({ volumes: volumesOf(random) }),
  initContainers: (random) => ({
    initContainers: manyOf(aNumber(random, 100), (n) => nastyContainer(random, `init-${n}`)),
  }),
  grace: (random) => ({ terminationGracePeriodSeconds: random.pick([0, 1, 2147483647]) }),
  scheduler: (random) => ({ schedulerName: random.pick(['constructor', 'default-scheduler']) }),
  gates: (random) => ({ schedulingGates: [{ name: random.pick(inherited) }] }),
  hostNetwork: () => ({ hostNetwork: true }),
  bound: () => ({ nodeName: 'constructor' }),
} as const satisfies Readonly<Record<string, Trait>>;

/** What a hostile pod may ask for. */
export type PodTrait = keyof typeof traits;

export const podTraits = Object.keys(traits) as PodTrait[];

const manyKeys = (random: Random): Record<string, string> =>
  Object.fromEntries(manyOf(aNumber(random, 150), (n) => [`example.com/key-${n}`, labelValue(random)]));

/** A pod that the API server takes, with one to three strange traits of those given, as it pends. */
export function hostilePod(random: Random, name: string, of = podTraits): Pod {
  const { metadata, spec } = hostileTemplate(random, of);
  const made = pod(name, {}, {}, spec);
  return {
    ...made,
    metadata: { ...made.metadata, ...metadata, namespace: hostileNamespace, ownerReferences: ownersOf(random) },
  };
}

export function hostileTemplate(random: Random, of = podTraits): PodTemplateSpec {
  const parts = manyOf(random.int(1, 3), () => traits[random.pick(of)](random));
  const ports = random.chance(0.1) ? portsOf(random) : undefined;
  const main = { ...nastyContainer(random, 'main'), ...(ports && { ports }) };
  return {
    metadata: { labels: labelsOf(random), annotations: annotationsOf(random) },
    spec: Object.assign({}, ...parts, { containers: [main, ...sideContainers(random)] }) as PodSpec,
  };
}

const ownersOf = (random: Random): NonNullable<Pod['metadata']['ownerReferences']> =>
  random.chance(0.2)
    ? [{ apiVersion: 'constructor/v1', kind: 'ToString', name: 'constructor', uid: 'constructor' }]
    : [];

const amounts = {
  cpu: ['0', '1m', '1n', '0.5', '.5', '5.', '1e-3', '1e30', '9223372036854775807', '1E', '100'],
  memory: ['0', '1', '1m', '1e3', '64Mi', '1Ei', '1e30', '128974848000m'],
} as const;

function nastyContainer(random: Random, name: string): Container {
  const requests: Record<string, string> = { cpu: '10m', memory: '16Mi' };
  if (random.chance(0.3)) requests['cpu'] = random.pick(amounts.cpu);
  if (random.chance(0.3)) requests['memory'] = random.pick(amounts.memory);
  const made = container(requests);
  if (random.chance(0.8)) return { ...made, name };
  // What is not of Kubernetes itself is requested as it is limited, and whole.
  const extended = { [`example.com/${random.pick(inherited)}`]: random.pick(['0', '1', '1000000000000000000']) };
  return { ...made, name, resources: { requests: { ...requests, ...extended }, limits: extended } };
}

const sideContainers = (random: Random): Container[] =>
  random.chance(0.05) ? manyOf(random.int(1, 100), (n) => nastyContainer(random, `side-${n}`)) : [];

const portsOf = (random: Random): NonNullable<Container['ports']> =>
  manyOf(aNumber(random, 100), (n) => ({ containerPort: n + 1, hostPort: n + 1, protocol: 'TCP', hostIP: random.pick(['', '0.0.0.0', '::', '127.0.0.1']) })); // prettier-ignore

function tolerationsOf(random: Random): Toleration[] {
  if (random.chance(0.3)) return [{ operator: 'Exists' }];
  return manyOf(aNumber(random, 1000), () =>
    random.chance(0.5)
      ? { key: strangeKey(random), operator: 'Exists' as const }
      : {
          key: strangeKey(random),
          operator: 'Equal' as const,
          value: labelValue(random),
          effect: 'NoSchedule' as const,
        },
  );
}

function volumesOf(random: Random): PodVolume[] {
  const claims = ['constructor', 'missing'];
  return manyOf(aNumber(random, 100), (n): PodVolume => {
    const name = `volume-${n}`;
    const draw = random.next();
    if (draw < 0.5) return { name, persistentVolumeClaim: { claimName: random.pick(claims) } };
    if (draw < 0.7) return { name, emptyDir: {} };
    return { name, ephemeral: { volumeClaimTemplate: { spec: claimSpec(random) } } };
  });
}

export const claimSpec = (random: Random): { storageClassName?: string; accessModes: string[]; resources: { requests: Record<string, string> } } => ({
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: random.pick(['1', '1Gi', '1Ei', '1e30']) } },
  ...(random.chance(0.8) && { storageClassName: random.pick(['constructor', 'missing', '']) }),
}); // prettier-ignore
