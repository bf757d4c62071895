import type { Node, Pod } from '../../../api/kubernetes.js';
import { annotations, labels } from '../../../api/labels.js';
import { isOwnedBy } from '../../../core/pods.js';
import { parseResources } from '../../../core/quantities.js';
import { zones } from '../../cases/kwok.js';
import type { FakeKube } from '../kube/fake.js';
import { isAdmitted, volumesIn, type Surroundings, type VolumesOfPods } from '../scale-down/scheduling-rules.js';

interface Room {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

/**
 * Nodes of `pool` that a cluster at rest could do without: all of their pods would fit, the largest first, onto the others as these are, by room and by
 * the rules of scheduling. Spread counts every zone that a new node could be in, as Stowage does.
 */
export function* dispensable(kube: FakeKube, pool: string): Iterable<string> {
  const nodes = kube.kept('Node');
  const pods = kube.kept('Pod').filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const volumes = volumesIn(kube);
  for (const node of nodes) {
    const { name = '', labels: own, annotations: notes } = node.metadata;
    const there = pods.filter((pod) => pod.spec.nodeName === name && !isOwnedBy(pod, 'DaemonSet.apps'));
    if (own?.[labels.nodePool] !== pool || notes?.[annotations.doNotDisrupt] === 'true') continue;
    if (there.some(({ metadata }) => metadata.annotations?.[annotations.doNotDisrupt] === 'true')) continue;
    const others = nodes.filter((other) => other !== node);
    if (canMove(there, others, { pods, volumes }))
      yield `node ${name} could go: its ${there.length} pods fit onto the others`;
  }
}

/** Puts each pod where it may be first. */
function canMove(
  moved: readonly Pod[],
  nodes: readonly Node[],
  { pods, volumes }: { readonly pods: readonly Pod[]; readonly volumes: VolumesOfPods },
): boolean {
  const there = new Map(
    nodes.map(({ metadata: { name = '' } }) => [name, pods.filter(({ spec }) => spec.nodeName === name)]),
  );
  const around: Surroundings = {
    nodes,
    pods: there,
    volumes,
    moreDomains: (key) => (key === labels.zone ? zones : []),
  };
  const largestFirst = [...moved].sort(
    (a, b) => askedBy(b).cpu - askedBy(a).cpu || askedBy(b).memory - askedBy(a).memory,
  );
  return largestFirst.every((pod) => {
    const home = nodes.find((node) => {
      const own = there.get(node.metadata.name ?? '') ?? [];
      return hasRoom(askedBy(pod), node, own) && isAdmitted(pod, node, around);
    });
    if (home === undefined) return false;
    there.get(home.metadata.name ?? '')?.push(pod);
    return true;
  });
}

function hasRoom(asked: Room, { status }: Node, there: readonly Pod[]): boolean {
  const { cpu = 0, memory = 0, pods: most = 0 } = parseResources(status?.allocatable);
  const used = there.map(askedBy);
  const sum = (name: keyof Room): number => used.reduce((all, each) => all + each[name], asked[name]);
  return sum('cpu') <= cpu && sum('memory') <= memory && sum('pods') <= most;
}

function askedBy({ spec }: Pod): Room {
  const { cpu = 0, memory = 0 } = parseResources(spec.containers[0]?.resources?.requests);
  return { cpu, memory, pods: 1 };
}
