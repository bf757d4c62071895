import type { KubernetesObject, PersistentVolumeClaim, Pod, PodTemplateSpec } from '../../api/kubernetes.js';
import { annotations } from '../../api/labels.js';
import { fullName, nameOf, namespaceOf } from '../../core/names.js';
import { controllerOf } from '../../core/owners.js';
import { isTerminal } from '../../core/pods.js';
import { compareText } from '../../core/text.js';
import { shapeKey } from '../../packing/compile/pod-key.js';
import { QuantityReader, readableRequests } from '../../packing/compile/pod-requests.js';
import type { ClusterObjects } from '../../packing/types.js';

/** A workload of a file, as far as its pods depend on it. */
export interface AppliedWorkload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly template: PodTemplateSpec;
    readonly volumeClaimTemplates?: readonly PersistentVolumeClaim[];
  };
}

/** The lists whose objects stand for pods. */
export const workloadLists: ReadonlySet<string> = new Set([
  'deployments',
  'replicaSets',
  'statefulSets',
  'daemonSets',
  'jobs',
]);

/** The pods and volume claims of a snapshot after a workload is applied, and what that changes. */
interface WithWorkload {
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly fields: readonly { readonly field: string; readonly from: string; readonly to: string }[];
}

/** The pods that a workload has: those of its ReplicaSets for a Deployment. */
export function podsOfWorkload(workload: KubernetesObject, { pods, replicaSets = [] }: ClusterObjects): readonly Pod[] {
  const [namespace, name] = [namespaceOf(workload), nameOf(workload)];
  const own = new Set(
    replicaSets
      .filter((set) => namespaceOf(set) === namespace && isControlledBy(set, 'Deployment', name))
      .map((set) => nameOf(set)),
  );
  const known = new Set(replicaSets.filter((set) => namespaceOf(set) === namespace).map((set) => nameOf(set)));
  return pods.filter((pod) => {
    if (namespaceOf(pod) !== namespace || isTerminal(pod)) return false;
    if (workload.kind !== 'Deployment') return isControlledBy(pod, workload.kind, name);
    const owner = controllerOf(pod);
    if (owner?.kind === 'Deployment') return owner.name === name;
    if (owner?.kind !== 'ReplicaSet') return false;
    // An export may lack ReplicaSets, whose names are those of their Deployments with a hash.
    return own.has(owner.name) || (!known.has(owner.name) && owner.name.replace(/-[a-z0-9]{5,10}$/, '') === name);
  });
}

function isControlledBy(object: KubernetesObject, kind: string, name: string): boolean {
  const owner = controllerOf(object);
  return owner?.kind === kind && owner.name === name;
}

/** Applies a workload: its pods stay where scheduling reads nothing else of the template, and are new ones otherwise. */
export function withWorkload(
  workload: AppliedWorkload,
  existing: AppliedWorkload | undefined,
  objects: ClusterObjects,
): WithWorkload {
  const own = podsOfWorkload(workload, objects);
  const template = existing?.spec.template ?? templateOf(own[0], objects);
  const isSame =
    template !== undefined && scheduledBy(template, workload) === scheduledBy(workload.spec.template, workload);
  if (workload.kind === 'DaemonSet') return withDaemons(workload, own, { isSame, template, objects });
  const wanted = replicasOf(workload) ?? existing?.spec.replicas ?? Math.max(1, own.length);
  const kept = isSame ? [...own].sort(runningFirst).slice(0, wanted) : [];
  const gone = new Set(own.filter((pod) => !kept.includes(pod)));
  const added = newPods(workload, kept, wanted);
  return {
    pods: [...objects.pods.filter((pod) => !gone.has(pod)), ...added],
    claims: added.flatMap((pod) => claimsOf(workload, pod, objects)),
    fields: [
      ...(own.length === wanted ? [] : [{ field: 'pods', from: String(own.length), to: String(wanted) }]),
      ...(isSame || template === undefined ? [] : [changedTemplate]),
    ],
  };
}

const changedTemplate = { field: 'spec.template', from: '', to: 'what its pods need' };

const runningFirst = (a: Pod, b: Pod): number =>
  Number(isRunning(b)) - Number(isRunning(a)) || compareText(nameOf(a), nameOf(b));

const isRunning = ({ spec }: Pod): boolean => (spec.nodeName ?? '') !== '';

/** The pods that a workload lacks. */
function newPods(workload: AppliedWorkload, kept: readonly Pod[], wanted: number): Pod[] {
  const taken = new Set(kept.map((pod) => nameOf(pod)));
  const prefix = `${nameOf(workload)}-${workload.kind === 'StatefulSet' ? '' : 'forecast-'}`;
  const added: Pod[] = [];
  for (let n = 0; added.length < wanted - kept.length; n++)
    if (!taken.has(`${prefix}${n}`)) added.push(newPod(workload, `${prefix}${n}`));
  return added;
}

const replicasOf = ({ kind, spec }: AppliedWorkload): number | undefined =>
  kind === 'Job' ? Math.min(spec.parallelism ?? 1, spec.completions ?? spec.parallelism ?? 1) : spec.replicas;

function withDaemons(
  workload: AppliedWorkload,
  own: readonly Pod[],
  { isSame, template, objects }: { isSame: boolean; template: PodTemplateSpec | undefined; objects: ClusterObjects },
): WithWorkload {
  const owned = new Set(own);
  const { metadata, spec } = workload.spec.template;
  const changed = (pod: Pod): Pod => ({
    ...pod,
    metadata: { ...pod.metadata, ...(metadata?.labels && { labels: metadata.labels }) },
    spec: { ...spec, ...(pod.spec.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }) },
  });
  return {
    pods: isSame ? objects.pods : objects.pods.map((pod) => (owned.has(pod) ? changed(pod) : pod)),
    claims: [],
    fields: isSame || template === undefined ? [] : [changedTemplate],
  };
}

function templateOf(
  pod: Pod | undefined,
  { replicaSets = [], statefulSets = [], daemonSets = [] }: ClusterObjects,
): PodTemplateSpec | undefined {
  if (pod === undefined) return undefined;
  const owner = controllerOf(pod);
  if (owner === undefined) return pod;
  const found = [...replicaSets, ...statefulSets, ...daemonSets].find(
    (each) => nameOf(each) === owner.name && namespaceOf(each) === namespaceOf(pod) && each.kind === owner.kind,
  );
  return found?.spec.template ?? pod;
}

const quantities = new QuantityReader();

/** Labels that controllers add to pods. */
const addedLabels =
  /^(pod-template-hash|controller-revision-hash|pod-template-generation|controller-uid|job-name|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index|batch\.kubernetes\.io\/.*)$/;

/** A text that is equal for templates between which scheduling and disruption find no difference. */
export function scheduledBy(
  { metadata, spec }: PodTemplateSpec,
  { metadata: { namespace = 'default' } }: KubernetesObject,
): string {
  const labels = Object.fromEntries(
    Object.entries(metadata?.labels ?? {})
      .filter(([key]) => !addedLabels.test(key))
      .sort(([a], [b]) => compareText(a, b)),
  );
  // Admission adds them to every pod.
  const tolerations = (spec.tolerations ?? []).filter(
    ({ key, effect, tolerationSeconds }) =>
      !(
        effect === 'NoExecute' &&
        tolerationSeconds !== undefined &&
        /^node\.kubernetes\.io\/(not-ready|unreachable)$/.test(key ?? '')
      ),
  );
  const volumes = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim, ephemeral, csi }) =>
    persistentVolumeClaim === undefined && ephemeral === undefined && csi === undefined
      ? []
      : [[persistentVolumeClaim?.claimName, ephemeral, csi?.driver]],
  );
  const pod = { metadata: { namespace, labels }, spec: { ...spec, tolerations } } as Pod;
  const requests = [...readableRequests(spec, quantities)].sort(([a], [b]) => compareText(a, b));
  return JSON.stringify([
    shapeKey(pod, Object.keys(labels), JSON.stringify(volumes)),
    ...[requests, spec.schedulingGates ?? [], spec.priorityClassName ?? '', spec.schedulerName ?? 'default-scheduler'],
    metadata?.annotations?.[annotations.doNotDisrupt] ?? '',
  ]);
}

function newPod(workload: AppliedWorkload, name: string): Pod {
  const { metadata, spec } = workload.spec.template;
  const isDeployment = workload.kind === 'Deployment';
  const owner = {
    apiVersion: workload.apiVersion,
    kind: isDeployment ? 'ReplicaSet' : workload.kind,
    name: isDeployment ? `${nameOf(workload)}-forecast` : nameOf(workload),
    uid: fullName(workload),
    controller: true,
  };
  const claims = (workload.spec.volumeClaimTemplates ?? []).map((claim) => ({
    ...{ name: nameOf(claim), persistentVolumeClaim: { claimName: `${nameOf(claim)}-${name}` } },
  }));
  const named = new Set(claims.map((claim) => claim.name));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name, namespace: namespaceOf(workload), uid: `${fullName(workload)}/${name}` },
      ...(metadata?.labels && { labels: metadata.labels }),
      ...(metadata?.annotations && { annotations: metadata.annotations }),
      ownerReferences: [owner],
    },
    spec: {
      ...spec,
      ...(claims.length > 0 && {
        volumes: [...(spec.volumes ?? []).filter((each) => !named.has(each.name)), ...claims],
      }),
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  };
}

function claimsOf(
  workload: AppliedWorkload,
  pod: Pod,
  { persistentVolumeClaims = [] }: ClusterObjects,
): PersistentVolumeClaim[] {
  return (workload.spec.volumeClaimTemplates ?? []).flatMap((claim) => {
    const [name, namespace] = [`${nameOf(claim)}-${nameOf(pod)}`, namespaceOf(workload)];
    const isThere = persistentVolumeClaims.some((each) => nameOf(each) === name && namespaceOf(each) === namespace);
    const made = { ...claim, apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace } };
    return isThere ? [] : [made];
  });
}
