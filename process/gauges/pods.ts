import type { Pod } from '../../api/kubernetes.js';
import { isTrue } from '../../core/conditions.js';
import { isTerminal } from '../../core/pods.js';
import { type Family, type Labels, type Sample, type Scrape, secondsSince } from './scrape.js';
import { nameOf } from '../../core/names.js';

const ofNode = ['nodepool', 'zone', 'arch', 'capacity_type', 'instance_type', 'managed'] as const;

/** Series for each pod, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
export const podFamilies: readonly Family[] = [
  {
    name: 'pods_state',
    help: 'One for each pod, with what it is in.',
    labelNames: ['name', 'namespace', 'owner', 'node', 'scheduled', ...ofNode, 'phase', 'ready'],
    samples: podStates,
  },
  {
    name: 'pods_unbound_time_seconds',
    help: 'Time since the creation of each pod that has no node.',
    labelNames: ['name', 'namespace'],
    samples: (scrape) => ages(scrape, (pod) => (pod.spec.nodeName ?? '') === ''),
  },
  {
    name: 'pods_unstarted_time_seconds',
    help: 'Time since the creation of each pod that is Pending: its containers do not run yet.',
    labelNames: ['name', 'namespace'],
    samples: (scrape) => ages(scrape, ({ status }) => (status?.phase ?? 'Pending') === 'Pending'),
  },
];

function ages({ deps, now }: Scrape, counts: (pod: Pod) => boolean): Sample[] {
  return deps.cache
    .all('Pod')
    .filter((pod) => !isTerminal(pod) && counts(pod))
    .map(({ metadata }) => [
      { name: metadata.name ?? '', namespace: metadata.namespace ?? '' },
      secondsSince(metadata.creationTimestamp, now),
    ]);
}

function podStates(scrape: Scrape): Sample[] {
  const nodes = new Map(scrape.nodes().map(([node, own]) => [nameOf(node), pick(own)]));
  return scrape.deps.cache.all('Pod').map((pod): Sample => {
    const { name = '', namespace = '' } = pod.metadata;
    const node = pod.spec.nodeName ?? '';
    return [
      {
        ...{ name, namespace, owner: ownerOf(pod), node, scheduled: String(node !== '') },
        ...(nodes.get(node) ?? unknownNode),
        phase: pod.status?.phase ?? '',
        ready: String(isTrue(pod.status?.conditions, 'Ready')),
      },
      1,
    ];
  });
}

function ownerOf({ metadata }: Pod): string {
  const [owner] = metadata.ownerReferences ?? [];
  return owner === undefined ? '' : `${owner.kind}/${owner.name}`;
}

const unknownNode: Labels = { ...Object.fromEntries(ofNode.map((label) => [label, ''])), managed: 'false' };

function pick(node: Labels): Labels {
  return Object.fromEntries(ofNode.map((label) => [label, node[label] ?? '']));
}
