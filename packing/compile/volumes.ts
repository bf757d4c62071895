import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodVolume,
  StorageClass,
} from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { single, requirementOf, type Requirement } from '../requirements/requirement.js';
import { normaliseKey } from '../../core/labels.js';
import { canonicalText, impossibleKey, join, narrow, type Requirements } from '../requirements/requirements.js';
import type { ClusterObjects } from '../types.js';
import { lookUp } from '../../core/own.js';
import { listedNames, compareText } from '../../core/text.js';
import { isTerminal, isUnassigned } from '../../core/pods.js';
import { volumeClaimName, nameOf, namespaceOf, fullName, isDeleting } from '../../core/names.js';
import { readTerm } from './node-terms.js';
import type { CompiledNode } from './nodes.js';
import { nodesOfVolumes, staticSupplies, type StaticDemand, type StaticSupply } from './static-volumes.js';

/** The requirements of a pod's volumes on its node (volumes/node-needs). */
interface VolumeNeeds {
  /** Alternatives for the node, of which one must be satisfied; empty if the volumes are accessible anywhere. */
  readonly alternatives: readonly Requirements[];
  /** Why no node can run the pod yet. */
  readonly error?: { readonly subject: string; readonly message: string };
}

const noNeeds: VolumeNeeds = { alternatives: [] };
const bindCompleted = 'pv.kubernetes.io/bind-completed';

interface ClaimNeeds {
  readonly alternatives: readonly Requirements[];
  readonly driver?: string;
  readonly error?: string;
}

/** Reads the claims, volumes and storage classes behind the volumes of pods. */
export class Volumes {
  private readonly claims = new Map<string, PersistentVolumeClaim>();
  private readonly volumes = new Map<string, PersistentVolume>();
  private readonly classes = new Map<string, StorageClass>();
  private readonly users = new Map<string, Pod[]>();
  private readonly known = new Map<string, VolumeNeeds>();
  private readonly supplies: ReadonlyMap<string, StaticSupply>;
  /** The host names of nodes that stay. */
  private readonly hosts: ReadonlySet<string>;

  constructor(objects: ClusterObjects, nodes: readonly CompiledNode[]) {
    this.hosts = new Set(nodes.flatMap(({ deleting, labels: own }) => (deleting ? [] : (own[labels.hostname] ?? []))));
    for (const claim of objects.persistentVolumeClaims ?? []) {
      this.claims.set(fullName(claim), claim);
    }
    for (const volume of objects.persistentVolumes ?? []) this.volumes.set(nameOf(volume), volume);
    for (const storage of objects.storageClasses ?? []) this.classes.set(nameOf(storage), storage);
    const demands: StaticDemand[] = [];
    for (const pod of this.claims.size === 0 ? [] : objects.pods) {
      const keys = new Set((pod.spec.volumes ?? []).flatMap((volume) => claimKey(pod, volume) ?? []));
      for (const key of keys) this.users.set(key, [...(this.users.get(key) ?? []), pod]);
      const claims = [...keys].flatMap((key) => this.staticClaim(key));
      if (claims.length > 0 && isUnassigned(pod)) demands.push({ pod, claims });
    }
    this.supplies = staticSupplies(demands, this.volumes.values());
  }

  /** The claim, if only an existing volume can satisfy it. */
  private staticClaim(key: string): StaticDemand['claims'] {
    const claim = this.claims.get(key);
    const { volumeName = '', storageClassName = '' } = claim?.spec ?? {};
    const storage = this.classes.get(storageClassName);
    const isStatic = storage?.provisioner === noProvisioner && storage.volumeBindingMode === 'WaitForFirstConsumer';
    return claim === undefined || volumeName !== '' || !isStatic ? [] : [{ key, claim }];
  }

  /** A key that is equal for pods whose volumes have the same requirements; empty for most pods. */
  text(pod: Pod): string {
    let text = '';
    for (const volume of pod.spec.volumes ?? []) {
      const key = claimKey(pod, volume);
      if (key === undefined) continue;
      const { alternatives, driver, error } = this.claimNeeds(pod, key, volume);
      const name = this.isShared(key) || error !== undefined ? key : '';
      text += `V${name}/${driver ?? ''}/${error ?? ''}/${alternatives.map(canonicalText).join('|')}`;
    }
    return text;
  }

  needs(pod: Pod): VolumeNeeds {
    const volumes = pod.spec.volumes;
    if (volumes === undefined) return noNeeds;
    const text = this.text(pod);
    if (text === '') return noNeeds;
    let needs = this.known.get(text);
    if (needs === undefined) this.known.set(text, (needs = this.build(pod, volumes)));
    return needs;
  }

  /**
   * The volumes of a pod with a requirement on the label, as text, each with the object that has it; undefined if there
   * are none.
   */
  asking(pod: Pod, label: string): string | undefined {
    const found = (pod.spec.volumes ?? []).flatMap((volume) => {
      const key = claimKey(pod, volume);
      if (key === undefined || !this.claimNeeds(pod, key, volume).alternatives.some((each) => each.has(label)))
        return [];
      const spec = this.claims.get(key)?.spec ?? volume.ephemeral?.volumeClaimTemplate.spec;
      const { volumeName = '', storageClassName = '' } = spec ?? {};
      const by = volumeName === '' ? `StorageClass ${storageClassName}` : `PersistentVolume ${volumeName}`;
      return [`volume ${volume.name} of the pod (${by})`];
    });
    return found.length === 0 ? undefined : listedNames(found);
  }

  /** The volumes of a pod that count towards attach limits. `isFirst`: the pod is the first by name of those that use it. */
  attached(pod: Pod): { driver: string; volume: string; isFirst: boolean }[] {
    const found = new Map<string, { driver: string; volume: string; isFirst: boolean }>();
    for (const volume of pod.spec.volumes ?? []) {
      const key = claimKey(pod, volume);
      const driver = key === undefined ? undefined : this.claimNeeds(pod, key, volume).driver;
      if (key === undefined || driver === undefined) continue;
      const users = (this.users.get(key) ?? []).filter((user) => !isTerminal(user));
      const isFirst = users.every((user) => compareText(nameOf(user), nameOf(pod)) >= 0);
      found.set(key, { driver, volume: this.claims.get(key)?.spec.volumeName ?? key, isFirst });
    }
    return [...found.values()];
  }

  private build(pod: Pod, volumes: readonly PodVolume[]): VolumeNeeds {
    let alternatives: readonly Requirements[] = [];
    for (const volume of volumes) {
      const key = claimKey(pod, volume);
      if (key === undefined) continue;
      const needs = this.claimNeeds(pod, key, volume);
      if (needs.error !== undefined) {
        const error = { subject: `PersistentVolumeClaim ${key}`, message: needs.error };
        return { alternatives: [], error };
      }
      alternatives = cross(alternatives, needs.alternatives);
    }
    return { alternatives };
  }

  private isShared(key: string): boolean {
    return (this.users.get(key)?.length ?? 0) > 1;
  }

  private claimNeeds(pod: Pod, key: string, volume: PodVolume): ClaimNeeds {
    const claim = this.claims.get(key);
    const spec = claim?.spec ?? volume.ephemeral?.volumeClaimTemplate.spec;
    if (spec === undefined) return refused('does not exist');
    const { volumeName = '', storageClassName = '' } = spec;
    if (claim !== undefined) {
      const wrong = wrongClaim(claim) ?? this.whyInUse(pod, key, claim);
      if (wrong !== undefined) return refused(wrong);
      if (volumeName !== '') return this.boundNeeds(pod, volumeName);
    }
    // Rule `volumes/unusable-claims`.
    if (storageClassName === '') return refused('is unbound and has no storage class');
    const supply = this.supplies.get(key);
    if (typeof supply === 'string') return refused(supply);
    return supply === undefined ? this.classNeeds(storageClassName) : supplyNeeds(supply);
  }

  /**
   * A ReadWriteOncePod claim serves one pod at a time: a running one, otherwise the first by name
   * (volumes/read-write-once-pod).
   */
  private whyInUse(pod: Pod, key: string, { spec }: PersistentVolumeClaim): string | undefined {
    if (spec.accessModes?.includes('ReadWriteOncePod') !== true) return undefined;
    const others = (this.users.get(key) ?? []).filter((other) => other !== pod && !isTerminal(other));
    const runs = others.find((other) => (other.spec.nodeName ?? '') !== '');
    const first = others.find((other) => isUnassigned(other) && compareText(nameOf(other), nameOf(pod)) < 0);
    const user = runs ?? ((pod.spec.nodeName ?? '') === '' ? first : undefined);
    if (user === undefined) return undefined;
    return `is ReadWriteOncePod, and pod ${fullName(user)} ${user === runs ? 'uses' : 'is to use'} it`;
  }

  private boundNeeds(pod: Pod, name: string): ClaimNeeds {
    const volume = this.volumes.get(name);
    if (volume === undefined) return refused(`is bound to PersistentVolume ${name}, which does not exist`);
    if (isDeleting(volume)) {
      return refused(`is bound to PersistentVolume ${name}, which is being deleted`);
    }
    const local = volume.spec.local !== undefined || volume.spec.hostPath !== undefined;
    const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    // The host of a pod that moves will be removed; that of a pending pod may still exist, and is then required.
    const isHost = (value: string): boolean => (pod.spec.nodeName ?? '') === '' && this.hosts.has(value);
    const alternatives = terms.map((term) => readTerm(local ? withoutHost(term, isHost) : term));
    const driver = driverOf(volume);
    return {
      alternatives: alternatives.some((each) => each.size === 0) ? [] : alternatives,
      ...(driver === undefined ? {} : { driver }),
    };
  }

  private classNeeds(name: string): ClaimNeeds {
    const storage = this.classes.get(name);
    if (storage === undefined) return refused(`asks for storage class ${name}, which does not exist`);
    if (storage.volumeBindingMode !== 'WaitForFirstConsumer') {
      return refused(`is unbound though storage class ${name} binds at once`);
    }
    const alternatives = (storage.allowedTopologies ?? []).map(({ matchLabelExpressions }) => {
      const read = new Map<string, Requirement>();
      for (const { key, values } of matchLabelExpressions ?? []) {
        narrow(read, normaliseKey(key), values.length === 1 ? single(values[0]!) : requirementOf('In', values));
      }
      return read;
    });
    return { alternatives, driver: lookUp(csiDrivers, storage.provisioner) ?? storage.provisioner };
  }
}

/** CSI drivers of Kubernetes' former in-tree volume plugins, by plugin name. */
const csiDrivers: Readonly<Record<string, string>> = {
  'kubernetes.io/aws-ebs': 'ebs.csi.aws.com',
  'kubernetes.io/gce-pd': 'pd.csi.storage.gke.io',
  'kubernetes.io/azure-disk': 'disk.csi.azure.com',
};

/** The driver that attaches a volume; undefined if there is no attach limit for it. */
function driverOf({ spec }: PersistentVolume): string | undefined {
  if (spec.csi !== undefined) return spec.csi.driver;
  if (spec.awsElasticBlockStore !== undefined) return csiDrivers['kubernetes.io/aws-ebs'];
  if (spec.gcePersistentDisk !== undefined) return csiDrivers['kubernetes.io/gce-pd'];
  return spec.azureDisk === undefined ? undefined : csiDrivers['kubernetes.io/azure-disk'];
}

function wrongClaim({ metadata, spec, status }: PersistentVolumeClaim): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
  if (status?.phase === 'Lost') return 'has lost its volume';
  const bound = (spec.volumeName ?? '') !== '';
  return bound && metadata.annotations?.[bindCompleted] === undefined ? 'is not bound completely yet' : undefined;
}

const refused = (error: string): ClaimNeeds => ({ alternatives: [], error });

function claimKey(pod: Pod, volume: PodVolume): string | undefined {
  const claim = volumeClaimName(pod, volume);
  return claim === undefined ? undefined : `${namespaceOf(pod)}/${claim}`;
}

const withoutHost = ({ matchExpressions }: NodeSelectorTerm, isThere: (host: string) => boolean): NodeSelectorTerm => ({
  matchExpressions: (matchExpressions ?? []).filter(
    ({ key, values = [] }) => key !== labels.hostname || values.some(isThere),
  ),
});

const noProvisioner = 'kubernetes.io/no-provisioner';

/** The requirements of a claim that binds to one of these volumes. */
function supplyNeeds(volumes: readonly PersistentVolume[]): ClaimNeeds {
  const [first] = volumes;
  const driver = first === undefined ? undefined : driverOf(first);
  const places = volumes.map(nodesOfVolumes);
  const alternatives = places.some(({ length }) => length === 0) ? [] : places.flat();
  return { alternatives, ...(driver !== undefined && { driver }) };
}

/** Every compatible pair of alternatives; if there is none, all of them merged. */
function cross(left: readonly Requirements[], right: readonly Requirements[]): readonly Requirements[] {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const pairs = left.flatMap((one) => right.map((other) => join(one, other)));
  const possible = pairs.filter((pair) => impossibleKey(pair) === undefined);
  return possible.length > 0 ? possible : pairs.slice(0, 1);
}
