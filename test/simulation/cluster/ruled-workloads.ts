import type { Taint } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import type { Random } from '../../cases/random.js';
import type { FakeKube } from '../kube/fake.js';
import { ReplicaSet, type Replicas, type ScaledPods } from '../scale-down/workloads.js';
import type { ClusterParts } from '../scale-down/world.js';
import { defaultSpec } from './pools.js';
import { StatefulSet } from './stateful-set.js';
import { addPool, template } from './world.js';

/** A NodePool whose nodes take the pods of one team alone, once an agent has taken its startup taint off. */
const dedicatedPool = 'dedicated';
/** The app that its nodes are for. */
export const dedicatedApp = 'search';
const team = { key: 'example.com/team', value: 'search', effect: 'NoSchedule' } satisfies Taint;
const startupTaint = { key: 'example.com/agent-not-ready', effect: 'NoExecute' } satisfies Taint;

const dedicatedSpec = {
  ...defaultSpec,
  template: {
    metadata: { labels: { [team.key]: team.value } },
    spec: { ...defaultSpec.template.spec, ...template, taints: [team], startupTaints: [startupTaint] },
  },
};

export function addDedicatedPool(kube: FakeKube): void {
  if (kube.kept('NodePool').some(({ metadata }) => metadata.name === dedicatedPool)) return;
  addPool(kube, dedicatedPool, dedicatedSpec, `pool-${dedicatedPool}-${kube.version()}`);
}

const own = (app: string): { matchLabels: Record<string, string> } => ({ matchLabels: { app } });

/** A required term about the pods of an app. */
const requiredBy = (topologyKey: string, app: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: own(app) }],
});

/** Pods with rules of scheduling. */
const ruled: readonly Replicas[] = [
  {
    app: 'spread',
    requests: { cpu: '700m', memory: '1Gi' },
    spec: {
      topologySpreadConstraints: [
        { topologyKey: labels.zone, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: own('spread') },
      ],
    },
  },
  {
    app: 'apart',
    requests: { cpu: '300m', memory: '512Mi' },
    graceSeconds: 20,
    spec: {
      affinity: {
        podAntiAffinity: requiredBy(labels.hostname, 'apart'),
      },
    },
  },
  {
    app: 'together',
    requests: { cpu: '1', memory: '2Gi' },
    spec: {
      affinity: {
        podAffinity: requiredBy(labels.zone, 'together'),
      },
    },
  },
  {
    app: 'on-demand',
    requests: { cpu: '800m', memory: '1Gi' },
    spec: { nodeSelector: { [labels.capacityType]: 'on-demand' } },
  },
  // Less important pods go for these.
  { app: 'urgent', requests: { cpu: '1200m', memory: '2Gi' }, graceSeconds: 10, spec: { priority: 1000 } },
  {
    app: dedicatedApp,
    requests: { cpu: '1', memory: '4Gi' },
    graceSeconds: 40,
    spec: {
      nodeSelector: { [team.key]: team.value },
      tolerations: [{ key: team.key, operator: 'Equal', value: team.value, effect: 'NoSchedule' }],
    },
  },
];

/** Its pods keep their names and their volumes. */
const stateful: Replicas = { app: 'store', requests: { cpu: '600m', memory: '2Gi' }, graceSeconds: 30 };

export function ruledWorkloads(parts: ClusterParts): readonly ScaledPods[] {
  return [...ruled.map((each) => new ReplicaSet(parts, each)), new StatefulSet(parts, stateful)];
}

/** The agent of the NodePool `dedicated`: it takes the startup taint off its nodes, some time after they are there. */
export function takeStartupTaintsOff({ kube, cache }: Pick<ClusterParts, 'kube' | 'cache'>, random: Random): void {
  cache.on('Node', ({ type, object }) => {
    const isTainted = (object.spec?.taints ?? []).some(({ key }) => key === startupTaint.key);
    if (type === 'deleted' || !isTainted) return;
    setTimeout(() => void takeOff(kube, object.metadata.name ?? ''), random.int(2, 40) * 1000);
  });
}

async function takeOff(kube: FakeKube, name: string): Promise<void> {
  const node = await kube.get('Node', { name });
  const left = node?.spec?.taints?.filter(({ key }) => key !== startupTaint.key);
  if (left === undefined || left.length === node?.spec?.taints?.length) return;
  await kube.patch(
    'Node',
    { name },
    { spec: { taints: left }, metadata: { resourceVersion: node?.metadata.resourceVersion } },
  );
}
