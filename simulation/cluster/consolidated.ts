import type { Node, Pod } from '../../api/kubernetes.js';
import { annotations, labels } from '../../api/labels.js';
import { isOwnedBy } from '../../core/pods.js';
import { parseResources } from '../../core/resources.js';
import type { FakeKube } from '../kube/fake.js';

interface Room {
  cpu: number;
  memory: number;
  pods: number;
}

/**
 * Nodes of `pool` that a cluster at rest could do without: all of their pods would fit, the largest first, onto the others as these are. It knows no
 * rule of scheduling but room, for a simulated cluster has no other.
 */
export function* dispensable(kube: FakeKube, pool: string): Iterable<string> {
  const nodes = kube.kept('Node');
  const pods = kube.kept('Pod').filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  for (const node of nodes) {
    const { name = '', labels: own, annotations: notes } = node.metadata;
    const there = pods.filter((pod) => pod.spec.nodeName === name && !isOwnedBy(pod, 'DaemonSet'));
    if (own?.[labels.nodePool] !== pool || notes?.[annotations.doNotDisrupt] === 'true') continue;
    if (there.some(({ metadata }) => metadata.annotations?.[annotations.doNotDisrupt] === 'true')) continue;
    const rooms = nodes.filter((other) => other !== node).map((other) => roomOn(other, pods));
    if (fit(there, rooms)) yield `node ${name} could go: its ${there.length} pods fit onto the others`;
  }
}

function roomOn({ metadata, status }: Node, pods: readonly Pod[]): Room {
  const { cpu = 0, memory = 0, pods: most = 0 } = parseResources(status?.allocatable);
  const there = pods.filter(({ spec }) => spec.nodeName === metadata.name).map(askedBy);
  const sum = (name: keyof Room): number => there.reduce((all, each) => all + each[name], 0);
  return { cpu: cpu - sum('cpu'), memory: memory - sum('memory'), pods: most - there.length };
}

/** Puts each pod where it fits first. */
function fit(pods: readonly Pod[], rooms: readonly Room[]): boolean {
  const largestFirst = pods.map(askedBy).sort((a, b) => b.cpu - a.cpu || b.memory - a.memory);
  return largestFirst.every((asked) => {
    const room = rooms.find(({ cpu, memory, pods: left }) => cpu >= asked.cpu && memory >= asked.memory && left > 0);
    if (room === undefined) return false;
    room.cpu -= asked.cpu;
    room.memory -= asked.memory;
    room.pods -= 1;
    return true;
  });
}

function askedBy({ spec }: Pod): Room {
  const { cpu = 0, memory = 0 } = parseResources(spec.containers[0]?.resources?.requests);
  return { cpu, memory, pods: 1 };
}
