import type { Node, Pod } from '../../../api/kubernetes.js';
import { parseResources } from '../../../core/quantities.js';
import { pod } from '../../cases/objects.js';
import type { SimulatedCluster } from './world.js';

type Requests = Readonly<Record<'cpu' | 'memory', string>>;

/** The DaemonSet controller: a pod of each set on every node that lets it in and has room. */
export class DaemonSets {
  private readonly sets = new Map<string, Requests>();

  constructor(private readonly cluster: Pick<SimulatedCluster, 'kube' | 'cache'>) {
    cluster.cache.on('Node', ({ object }) => this.fill(object));
    cluster.cache.on('Pod', ({ type, object }) => {
      const node = cluster.cache.get('Node', { name: object.spec.nodeName ?? '' });
      if (type === 'deleted' && node !== undefined) this.fill(node);
    });
  }

  add(name: string, requests: Requests): void {
    this.sets.set(name, requests);
    const { spec } = pod(name, { app: name }, requests);
    this.cluster.kube.put('DaemonSet', {
      metadata: { name, namespace: 'default', uid: `ds-${name}` },
      spec: { selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } }, spec } },
    });
    for (const node of this.cluster.cache.all('Node')) this.fill(node);
  }

  remove(name: string): void {
    const { kube } = this.cluster;
    this.sets.delete(name);
    kube.remove('DaemonSet', { name, namespace: 'default' });
    for (const { metadata } of kube.kept('Pod')) {
      if (metadata.labels?.['app'] === name) kube.remove('Pod', { name: metadata.name ?? '', namespace: 'default' });
    }
  }

  /** Every set goes. */
  clear(): void {
    for (const name of [...this.sets.keys()]) this.remove(name);
  }

  private fill(node: Node): void {
    const name = node.metadata.name ?? '';
    const isClosed = (node.spec?.taints ?? []).some(({ effect }) => effect !== 'PreferNoSchedule');
    if (isClosed || node.metadata.deletionTimestamp !== undefined) return;
    const { kube } = this.cluster;
    if (!kube.kept('Node').some(({ metadata }) => metadata.name === name)) return;
    for (const [set, requests] of this.sets) {
      const there = kube.kept('Pod').filter(({ spec }) => spec.nodeName === name);
      if (there.some(({ metadata }) => metadata.labels?.['app'] === set) || !fits(node, there, requests)) continue;
      kube.put('Pod', daemon(set, requests, name));
    }
  }
}

function fits({ status }: Node, there: readonly Pod[], requests: Requests): boolean {
  const asked = [requests, ...there.map(({ spec }) => spec.containers[0]?.resources?.requests)].map(parseResources);
  const isMet = (name: string, most: number): boolean =>
    asked.reduce((sum, each) => sum + (each[name] ?? 0), 0) <= most;
  const { cpu = 0, memory = 0, pods = 0 } = parseResources(status?.allocatable);
  return isMet('cpu', cpu) && isMet('memory', memory) && there.length < pods;
}

function daemon(set: string, requests: Requests, nodeName: string): Pod {
  const name = `${set}-${nodeName}`;
  const { metadata, ...rest } = pod(name, { app: set }, requests, { nodeName, terminationGracePeriodSeconds: 0 });
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid: `ds-${set}`, controller: true };
  const creationTimestamp = new Date(Date.now()).toISOString();
  const own = { name, namespace: metadata.namespace ?? '', labels: { ...metadata.labels }, creationTimestamp };
  const conditions = [{ type: 'Ready', status: 'True' as const }];
  return { ...rest, metadata: { ...own, ownerReferences: [owner] }, status: { phase: 'Running', conditions } };
}
