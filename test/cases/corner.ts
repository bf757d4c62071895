import type { Case } from './case.js';
import { smallCatalogue } from './catalogues.js';
import { add, some, zones, type Draft, type Trait } from './corner-draft.js';
import { extensions } from './extensions.js';
import {
  type PartialSpec,
  archKey,
  capacityTypeKey,
  container,
  daemonSet,
  hostnameKey,
  inValues,
  instanceTypeKey,
  kwok,
  nodePool,
  pod,
  requestsOf,
  runningNode,
  storageClasses,
  zoneKey,
} from './objects.js';
import type { Random } from './random.js';
import { nodeLabels, volumeFor } from './realistic.js';

const selecting = (name: string) => ({ matchLabels: { app: name } });

const own: Readonly<Record<string, Trait>> = {
  plain: (draft, name, count) => add(draft, name, count, {}),
  limits: (draft, name, count) => {
    const pool = draft.random.pick(draft.pools);
    pool.options.limits = draft.random.pick<Record<string, string>>([
      { cpu: String(draft.random.int(4, 40)) },
      { memory: `${draft.random.int(8, 80)}Gi` },
      { nodes: String(draft.random.int(1, 4)) },
      { cpu: '0' },
    ]);
    add(draft, name, count, {});
  },
  minValues: (draft, name, count) => {
    const pool = draft.random.pick(draft.pools);
    const requirement = draft.random.pick([
      { key: instanceTypeKey, operator: 'Exists' as const, minValues: draft.random.int(2, 6) },
      { key: kwok.family, operator: 'Exists' as const, minValues: draft.random.int(2, 4) },
      { key: kwok.cpu, operator: 'Exists' as const, minValues: draft.random.int(2, 4) },
    ]);
    (pool.options.requirements ??= []).push(requirement);
    add(draft, name, count, {});
  },
  taints: (draft, name, count) => {
    const taint = {
      key: 'only',
      value: name,
      effect: draft.random.pick(['NoSchedule', 'NoExecute', 'PreferNoSchedule'] as const),
    };
    draft.pools.push({ name: `tainted-${name}`, options: { taints: [taint], labels: { only: name } } });
    add(draft, name, count, {
      tolerations: [
        draft.random.pick([
          { key: 'only', operator: 'Exists' as const },
          { key: 'only', value: name },
        ]),
      ],
      ...(draft.random.chance(0.5) && { nodeSelector: { only: name } }),
    });
    add(draft, `${name}-without`, Math.ceil(count / 3), {});
  },
  startupTaints: (draft, name, count) => {
    const pool = draft.random.pick(draft.pools);
    pool.options.startupTaints = [{ key: 'starting', effect: 'NoSchedule' }];
    add(draft, name, count, {});
  },
  hostPorts: (draft, name, count) => {
    const port = draft.random.int(8000, 8003);
    for (let i = 0; i < Math.min(count, 12); i++) {
      const hostIP = draft.random.pick([undefined, '127.0.0.1', '0.0.0.0', '10.0.0.1']);
      const protocol = draft.random.pick(['TCP', 'TCP', 'UDP']);
      const ports = [{ containerPort: 80, hostPort: port, protocol, ...(hostIP !== undefined && { hostIP }) }];
      draft.pods.push(pod(`${name}-${i}`, { app: name }, {}, { containers: [container(some(draft), ports)] }));
    }
  },
  initContainers: (draft, name, count) => {
    for (let i = 0; i < count; i++) {
      const sidecar = { ...container(some(draft)), name: 'sidecar', restartPolicy: 'Always' };
      const start = { ...container(requestsOf(draft.random.pick(['1', '2', '3']), '512Mi')), name: 'start' };
      const initContainers = draft.random.pick([[start], [sidecar], [sidecar, start], [start, sidecar]]);
      const overhead = draft.random.chance(0.3) ? { cpu: '250m', memory: '120Mi' } : undefined;
      draft.pods.push(
        pod(`${name}-${i}`, { app: name }, some(draft), { initContainers, ...(overhead && { overhead }) }),
      );
    }
  },
  orTerms: (draft, name, count) => {
    const terms = [
      { matchExpressions: [inValues(zoneKey, 'zone-nowhere')] },
      { matchExpressions: [inValues(kwok.family, 'nothing')] },
      {
        matchExpressions: [
          inValues(zoneKey, draft.random.pick(zones)),
          inValues(capacityTypeKey, draft.random.pick(['spot', 'on-demand'])),
        ],
      },
      { matchExpressions: [inValues(archKey, 'amd64')] },
    ];
    add(draft, name, count, {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: draft.random.some(terms, 2) },
        },
      },
    });
  },
  bounds: (draft, name, count) => {
    const low = draft.random.pick([1, 2, 4]);
    const matchExpressions = [
      { key: kwok.cpu, operator: 'Gt' as const, values: [String(low)] },
      ...(draft.random.chance(0.6) ? [{ key: kwok.cpu, operator: 'Lt' as const, values: [String(low * 8 + 1)] }] : []),
    ];
    add(draft, name, count, {
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
      },
    });
  },
  customLabels: (draft, name, count) => {
    const key = `example.com/${name}`;
    draft.random
      .pick(draft.pools)
      .options.requirements?.push(
        draft.random.pick([{ key, operator: 'Exists' as const }, inValues(key, 'x', 'y', 'z')]),
      );
    const third = Math.max(1, Math.floor(count / 3));
    add(draft, name, third, { nodeSelector: { [key]: 'x' } });
    const matching = (operator: 'NotIn' | 'DoesNotExist', values?: string[]): PartialSpec => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values && { values }) }] }],
          },
        },
      },
    });
    add(draft, `${name}-not`, third, matching('NotIn', ['x']));
    add(draft, `${name}-without`, third, matching('DoesNotExist'));
  },
  hostnameAntiAffinity: (draft, name, count) =>
    add(draft, name, Math.min(count, 15), {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: selecting(name), topologyKey: hostnameKey },
          ],
        },
      },
    }),
  zoneAntiAffinity: (draft, name) =>
    add(draft, name, draft.random.int(2, 4), {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: selecting(name), topologyKey: zoneKey }],
        },
      },
    }),
  antiAffinityToOthers: (draft, name, count) => {
    add(draft, `${name}-shy`, Math.min(count, 6), {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              labelSelector: selecting(`${name}-loud`),
              topologyKey: draft.random.pick([hostnameKey, hostnameKey, zoneKey]),
            },
          ],
        },
      },
    });
    add(draft, `${name}-loud`, count, {});
  },
  zoneAffinity: (draft, name, count) =>
    add(draft, name, count, {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: selecting(name), topologyKey: zoneKey }],
        },
      },
    }),
  hostnameAffinity: (draft, name) =>
    add(draft, name, draft.random.int(2, 5), {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: selecting(name), topologyKey: hostnameKey },
          ],
        },
      },
    }),
  follows: (draft, name, count) => {
    add(
      draft,
      `${name}-leader`,
      2,
      draft.random.chance(0.5) ? { nodeSelector: { [zoneKey]: draft.random.pick(zones) } } : {},
    );
    add(draft, `${name}-follower`, Math.min(count, 10), {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { labelSelector: selecting(`${name}-leader`), topologyKey: draft.random.pick([zoneKey, hostnameKey]) },
          ],
        },
      },
    });
  },
  zoneSpread: (draft, name, count) =>
    add(draft, name, count, {
      topologySpreadConstraints: [
        {
          maxSkew: draft.random.int(1, 3),
          topologyKey: zoneKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selecting(name),
          ...(draft.random.chance(0.3) && { minDomains: draft.random.int(2, 4) }),
          ...(draft.random.chance(0.3) && { nodeTaintsPolicy: 'Honor' as const }),
          ...(draft.random.chance(0.2) && { nodeAffinityPolicy: 'Ignore' as const }),
        },
      ],
      ...(draft.random.chance(0.3) && {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [inValues(zoneKey, ...draft.random.some(zones, 1))] }],
            },
          },
        },
      }),
    }),
  hostnameSpread: (draft, name, count) =>
    add(draft, name, count, {
      topologySpreadConstraints: [
        {
          maxSkew: draft.random.int(1, 4),
          topologyKey: hostnameKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selecting(name),
        },
      ],
    }),
  capacityTypeSpread: (draft, name, count) =>
    add(draft, name, count, {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: capacityTypeKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selecting(name),
        },
        ...(draft.random.chance(0.5)
          ? [
              {
                maxSkew: 1,
                topologyKey: zoneKey,
                whenUnsatisfiable: 'DoNotSchedule' as const,
                labelSelector: selecting(name),
              },
            ]
          : []),
      ],
    }),
  revisions: (draft, name, count) => {
    const constraint = {
      maxSkew: 1,
      topologyKey: zoneKey,
      whenUnsatisfiable: 'DoNotSchedule' as const,
      labelSelector: selecting(name),
      matchLabelKeys: ['pod-template-hash'],
    };
    for (const hash of ['one', 'two']) {
      const requests = some(draft);
      for (let i = 0; i < Math.ceil(count / 2); i++) {
        const labels = { app: name, 'pod-template-hash': hash };
        draft.pods.push(pod(`${name}-${hash}-${i}`, labels, requests, { topologySpreadConstraints: [constraint] }));
      }
    }
  },
  preferences: (draft, name, count) =>
    add(draft, name, count, {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 50, preference: { matchExpressions: [inValues(zoneKey, draft.random.pick(zones))] } },
            { weight: 1, preference: { matchExpressions: [inValues(zoneKey, draft.random.pick(zones))] } },
          ],
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 10,
              podAffinityTerm: {
                labelSelector: selecting(name),
                topologyKey: draft.random.pick([zoneKey, hostnameKey]),
              },
            },
          ],
        },
      },
    }),
  unsatisfiable: (draft, name, count) => {
    const few = Math.max(1, Math.floor(count / 4));
    draft.random.pick([
      () => add(draft, name, few, { nodeSelector: { 'example.com/unknown': 'yes' } }),
      () => add(draft, name, few, { nodeSelector: { [zoneKey]: 'zone-nowhere' } }),
      () => {
        for (let i = 0; i < few; i++) draft.pods.push(pod(`${name}-${i}`, { app: name }, requestsOf('500', '1Ti')));
      },
      () => {
        for (let i = 0; i < few; i++) {
          draft.pods.push(pod(`${name}-${i}`, { app: name }, requestsOf('1', '1Gi', { 'example.com/device': '1' })));
        }
      },
    ])();
  },
  weights: (draft, name, count) => {
    draft.pools.push({ name: `heavy-${name}`, options: { weight: draft.random.int(1, 100), requirements: [] } });
    draft.pools.push({ name: `light-${name}`, options: { weight: draft.random.int(1, 100), requirements: [] } });
    add(draft, name, count, {});
  },
  existingNodes: (draft, name, count) => {
    const uninitialized = draft.random.chance(0.5);
    for (let i = 0; i < draft.random.int(1, 5); i++) nodeOf(draft, `${name}-${i}`, uninitialized && i % 2 === 0);
    add(draft, name, count, {});
  },
  volumes: (draft, name, count) => {
    draft.objects.push(...storageClasses(['zone-1', 'zone-2']));
    for (let i = 0; i < Math.min(count, 8); i++) {
      const claim = `data-${name}-${i}`;
      const kind = draft.random.pick(['bound', 'unbound'] as const);
      draft.objects.push(...volumeFor(draft.random, claim, kind, zones));
      draft.pods.push(
        pod(`${name}-${i}`, { app: name }, some(draft), {
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
        }),
      );
    }
  },
  daemons: (draft, name, count) => {
    draft.objects.push(
      daemonSet(`${name}-all`, requestsOf('200m', '256Mi'), { tolerations: [{ operator: 'Exists' }] }),
      daemonSet(`${name}-some`, requestsOf('500m', '1Gi'), { nodeSelector: { [capacityTypeKey]: 'spot' } }),
    );
    add(draft, name, count, {});
  },
};

function nodeOf(draft: Draft, name: string, uninitialized: boolean): void {
  const { random } = draft;
  const type = random.pick(draft.catalogue);
  const node = {
    name,
    pool: draft.pools[0]?.name ?? 'default',
    labels: nodeLabels(type, random.pick(type.offerings)),
    allocatable: { pods: '110', ...type.resources },
    initialized: !uninitialized,
    ...(uninitialized && { startupTaints: [{ key: 'starting', effect: 'NoSchedule' as const }] }),
  };
  draft.objects.push(...runningNode(node));
  if (uninitialized) return;
  const cpu = Number(type.resources['cpu']);
  const amounts = requestsOf(
    `${Math.floor(cpu * 300)}m`,
    `${Math.floor(parseInt(type.resources['memory'] ?? '1', 10) * 256)}Mi`,
  );
  draft.objects.push(pod(`running-${name}`, { app: `running-${random.int(0, 2)}` }, amounts, { nodeName: name }));
}

const traits: Readonly<Record<string, Trait>> = { ...own, ...extensions };

/** Traits of `corner` cases, which Karpenter's peer understands as well. */
export const cornerTraits: readonly string[] = Object.keys(own);

/** Traits that `extended` cases have besides. */
export const extendedTraits: readonly string[] = Object.keys(extensions);

/** A small cluster with odd rules: three to six traits drawn from the list, or those named. */
export function cornerCase(random: Random, size: number, named: readonly string[] = []): Case {
  const draft: Draft = {
    random,
    catalogue: smallCatalogue(random, zones, random.pick([1, 3, 8, 20, 40])),
    pools: [{ name: 'default', options: { requirements: [] } }],
    objects: [],
    pods: [],
  };
  if (random.chance(0.3)) {
    draft.pools.push({ name: 'spot', options: { requirements: [inValues(capacityTypeKey, 'spot')] } });
  }
  const chosen =
    named.length > 0 ? [...named] : Array.from({ length: random.int(3, 6) }, () => random.pick(cornerTraits));
  const share = Math.max(1, Math.floor(size / chosen.length));
  chosen.forEach((trait, i) => traits[trait]?.(draft, `${trait.toLowerCase()}-${i}`, random.int(1, share)));
  const pools = draft.pools.map(({ name, options }) => nodePool(name, options));
  // A storage class may come with several traits.
  const unique = new Map(
    [...pools, ...draft.objects].map((object) => [`${object.kind}/${object.metadata.name ?? ''}`, object]),
  );
  return { objects: [...unique.values(), ...draft.pods], catalogue: draft.catalogue };
}

/** The same with one to three of the extended traits among them. */
export function extendedCase(random: Random, size: number): Case {
  const some = [random.int(1, 3), random.int(1, 3)] as const;
  const pick = (count: number, from: readonly string[]): string[] =>
    Array.from({ length: count }, () => random.pick(from));
  return cornerCase(random, size, [...pick(some[0], extendedTraits), ...pick(some[1], cornerTraits)]);
}
