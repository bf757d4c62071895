import type { ObjectMeta, Pod } from '../../../api/kubernetes.js';
import { compareText } from '../../../core/text.js';
import { timestamp } from '../../../core/conditions.js';
import { canonicalJson } from '../../../core/hash.js';
import { DomainError } from '../../../core/failures.js';
import { compareVersions, objectKey, resources } from '../../../kube/kinds.js';
import { mergePatch } from './merge-patch.js';
import { copyOf, frozen } from './copy.js';
import type { Kind, Kinds, ObjectRef, WatchEvent } from '../../../kube/port.js';

type Any = Kinds[Kind];

/** One write, as watches see it. */
export interface LogEntry {
  readonly kind: Kind;
  readonly type: WatchEvent<Any>['type'];
  readonly version: string;
  readonly object: Any;
  readonly previous: Any | undefined;
}

const nothing: readonly LogEntry[] = [];

/** Kinds whose generation the API server keeps. */
const withGeneration: ReadonlySet<Kind> = new Set<Kind>([
  'DaemonSet',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'ReplicationController',
  'PodDisruptionBudget',
  'NodePool',
  'NodeClaim',
  'NodeOverlay',
  'EC2NodeClass',
  'KWOKNodeClass',
  'DisruptionPolicy',
  'DisruptionPause',
  'CapacityBuffer',
]);

/** What the fake API server keeps, and its rules of writing. Objects inside are never changed, only replaced. */
export class FakeStorage {
  private readonly kinds = new Map<Kind, Map<string, Any>>();
  /** What `all` gave, until something is written. */
  private readonly listed = new Map<Kind, readonly Any[]>();
  /** By kind, in the order of their versions. */
  private readonly logs = new Map<Kind, LogEntry[]>();
  private writes = 0;
  private uids = 0;
  private listeners = new Set<() => void>();
  /** Versions before this one are forgotten. */
  floor = '0';
  /** How often a snapshot was brought back. */
  restores = 0;

  constructor(private readonly now: () => number) {}

  get version(): string {
    return String(this.writes);
  }

  /** Of one kind, ordered by key as the API server lists them. */
  all(kind: Kind): readonly Any[] {
    let listed = this.listed.get(kind);
    if (listed === undefined) {
      listed = [...this.of(kind)].sort(([a], [b]) => compareText(a, b)).map(([, object]) => object);
      this.listed.set(kind, listed);
    }
    return listed;
  }

  find(kind: Kind, ref: ObjectRef): Any | undefined {
    return this.of(kind).get(objectKey(ref));
  }

  /** Writes of a kind between `version` and now. */
  since(version: string, kind: Kind): readonly LogEntry[] {
    const log = this.logs.get(kind) ?? [];
    let start = log.length;
    while (start > 0 && compareVersions(log[start - 1]!.version, version) > 0) start--;
    return start === log.length ? nothing : log.slice(start);
  }

  onWrite(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  compact(): void {
    this.logs.clear();
    this.writes++;
    this.floor = this.version;
    this.announce();
  }

  /** All objects and the version as they are; what is returned brings them back, as a restored backup does, and ends every watch. */
  snapshot(): () => void {
    const kept = [...this.kinds].map(([kind, objects]) => [kind, new Map(objects)] as const);
    const { writes } = this;
    return () => {
      this.kinds.clear();
      this.listed.clear();
      for (const [kind, objects] of kept) this.kinds.set(kind, new Map(objects));
      this.logs.clear();
      this.writes = writes;
      this.floor = this.version;
      this.restores += 1;
      this.announce();
    };
  }

  announce(): void {
    for (const listener of [...this.listeners]) listener();
  }

  /** Fills in what the API server does and stores it. The caller has seen to it that the name is free. */
  create(kind: Kind, object: Omit<Any, 'apiVersion' | 'kind'>): Any {
    const { status, ...rest } = copyOf(object) as Any & { status?: object };
    const uid = `00000000-0000-4000-8000-${(++this.uids).toString(16).padStart(12, '0')}`;
    const metadata: ObjectMeta = {
      ...rest.metadata,
      name: rest.metadata.name ?? `${rest.metadata.generateName ?? ''}${this.uids.toString(36).padStart(5, '0')}`,
      uid,
      creationTimestamp: timestamp(this.now()),
    };
    delete metadata.deletionTimestamp;
    if (withGeneration.has(kind)) metadata.generation = 1;
    // A kubelet registers its Node with its status; everyone else's waits for the status subresource.
    const kept = kind === 'Node' || !resources[kind].status ? status : initialStatus(kind);
    return this.store(kind, { ...rest, metadata, ...(kept === undefined ? {} : { status: kept }) });
  }

  /** Stores an object as it is. */
  put(kind: Kind, object: Omit<Any, 'apiVersion' | 'kind'>): Any {
    const copy = copyOf(object) as Any;
    const previous = this.find(kind, refOf(copy));
    copy.metadata = {
      uid: previous?.metadata.uid ?? `00000000-0000-4000-8000-${(++this.uids).toString(16).padStart(12, '0')}`,
      creationTimestamp: previous?.metadata.creationTimestamp ?? timestamp(this.now()),
      ...(withGeneration.has(kind) ? { generation: (previous?.metadata.generation ?? 0) + 1 } : {}),
      ...copy.metadata,
    };
    return this.store(kind, copy);
  }

  patch(kind: Kind, object: Any, patch: object, subresource: 'status' | undefined): Any {
    const { status, ...rest } = patch as { status?: object };
    const separate = resources[kind].status;
    if (subresource === 'status' && !separate) throw new DomainError('NotFound', `${kind} has no status subresource`);
    const body = subresource === 'status' ? { status } : separate ? rest : patch;
    const next = mergePatch(object, body) as Any;
    const { name, namespace, uid, creationTimestamp, deletionTimestamp, generation } = object.metadata;
    next.metadata = dropUndefined({
      ...next.metadata,
      ...{ name, namespace, uid, creationTimestamp, deletionTimestamp, generation },
      resourceVersion: object.metadata.resourceVersion,
    });
    const added = (next.metadata.finalizers ?? []).some((name) => !object.metadata.finalizers?.includes(name));
    if (deletionTimestamp !== undefined && added) {
      throw new DomainError('Invalid', `patch ${kind} ${name ?? ''}: no new finalizers while it is being deleted`);
    }
    if (canonicalJson(next) === canonicalJson(object)) return object;
    if (generation !== undefined && canonicalJson(desired(next)) !== canonicalJson(desired(object))) {
      next.metadata.generation = generation + 1;
    }
    return isFinished(kind, next) ? this.remove(kind, next) : this.store(kind, next);
  }

  /** Marks for deletion, or removes when nothing holds the object. */
  delete(kind: Kind, object: Any, graceSeconds: number): void {
    const held = (object.metadata.finalizers ?? []).length > 0;
    if (graceSeconds === 0 && !held) {
      this.remove(kind, object);
      return;
    }
    const { deletionTimestamp, deletionGracePeriodSeconds = Infinity } = object.metadata;
    // A second deletion can only shorten the grace period.
    if (deletionTimestamp !== undefined && graceSeconds >= deletionGracePeriodSeconds) return;
    const { generation } = object.metadata;
    const metadata = {
      ...object.metadata,
      // The deletion is a change of what is desired.
      ...(generation !== undefined && deletionTimestamp === undefined ? { generation: generation + 1 } : {}),
      deletionTimestamp: timestamp(this.now() + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    };
    this.store(kind, { ...object, metadata });
  }

  remove(kind: Kind, object: Any): Any {
    const previous = this.find(kind, refOf(object));
    const last = this.versioned(kind, object);
    this.of(kind).delete(objectKey(refOf(object)));
    this.append({ kind, type: 'DELETED', version: this.version, object: last, previous });
    return last;
  }

  private store(kind: Kind, object: Any): Any {
    const previous = this.find(kind, refOf(object));
    const stored = this.versioned(kind, object);
    this.of(kind).set(objectKey(refOf(stored)), stored);
    const type = previous === undefined ? 'ADDED' : 'MODIFIED';
    this.append({ kind, type, version: this.version, object: stored, previous });
    return stored;
  }

  private versioned(kind: Kind, object: Any): Any {
    const resourceVersion = String(++this.writes);
    const metadata = { ...object.metadata, resourceVersion };
    return frozen({ ...object, apiVersion: resources[kind].apiVersion, kind, metadata });
  }

  private append(entry: LogEntry): void {
    const log = this.logs.get(entry.kind) ?? [];
    log.push(entry);
    this.logs.set(entry.kind, log);
    this.listed.delete(entry.kind);
    this.announce();
  }

  private of(kind: Kind): Map<string, Any> {
    let objects = this.kinds.get(kind);
    if (objects === undefined) this.kinds.set(kind, (objects = new Map<string, Any>()));
    return objects;
  }
}

export function refOf(object: { readonly metadata: ObjectMeta }): ObjectRef {
  const { name = '', namespace } = object.metadata;
  return namespace === undefined ? { name } : { name, namespace };
}

function initialStatus(kind: Kind): object | undefined {
  const phases: Partial<Record<Kind, string>> = {
    Pod: 'Pending',
    Namespace: 'Active',
    PersistentVolumeClaim: 'Pending',
  };
  const phase = phases[kind];
  return phase === undefined ? undefined : { phase };
}

/** All that a generation counts: neither metadata nor status. */
function desired(object: Any): object {
  return { ...object, metadata: undefined, status: undefined };
}

/** Whether a marked object has nothing left to wait for. */
function isFinished(kind: Kind, object: Any): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0) return false;
  return kind !== 'Pod' || deletionGracePeriodSeconds === 0;
}

/** Seconds that a pod is given: none when it does not run on a node. */
export function graceOf(pod: Pod, asked: number | undefined): number {
  const phase = pod.status?.phase ?? '';
  if (pod.spec.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed') return 0;
  return asked ?? pod.spec.terminationGracePeriodSeconds ?? 30;
}

function dropUndefined(metadata: ObjectMeta): ObjectMeta {
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));
}
