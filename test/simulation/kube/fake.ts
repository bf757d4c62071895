import type { Pod, PodDisruptionBudget } from '../../../api/kubernetes.js';
import { DomainError } from '../../../core/failures.js';
import { selects } from '../../../core/labels.js';
import { copyOf } from './copy.js';
import { FakeStorage, graceOf, refOf } from './fake-storage.js';
import { compareVersions, resources } from '../../../kube/kinds.js';
import type { Kind, Kinds, KubeClient, ListOptions, ObjectRef, WatchEvent } from '../../../kube/port.js';
import { matchesFields, parseLabelSelector } from './selectors.js';

export interface FakeKubeOptions {
  /** Milliseconds of the epoch, for creation and deletion timestamps. Default the machine's clock. */
  readonly now?: () => number;
  /** Kinds that this API server does not serve, as if their CustomResourceDefinition were missing. */
  readonly absent?: readonly Kind[];
  /**
   * `on-request` (default): a deleted pod that runs on a node terminates until `finishTermination`, as through a real
   * kubelet's grace period; `at-once`: it is gone immediately.
   */
  readonly podsTerminate?: 'on-request' | 'at-once';
  /** Reads return the stored objects, frozen, instead of copies: for simulations, which read all of them often. */
  readonly sharesReads?: boolean;
}

/**
 * An API server in memory with the semantics that Stowage relies on: resource versions, UIDs, generations, finalizers,
 * status subresources, merge patches with preconditions, graceful pod deletion, eviction against
 * PodDisruptionBudgets, watches. One contract suite holds it and a real server to the same behaviour.
 * It admits any object: no schema, no defaults, and namespaces need not exist. UIDs and generated names count up.
 */
export interface FakeKube extends KubeClient {
  /** Puts an object in as it is, status, UID and timestamps included; replaces one of that name. */
  put<K extends Kind>(kind: K, object: Omit<Kinds[K], 'apiVersion' | 'kind'>): Kinds[K];
  /** The newest resource version of all objects. */
  version(): string;
  /** All objects of a kind by key. Copies. */
  objects<K extends Kind>(kind: K): Kinds[K][];
  /** The same as they are kept, for those who read alone and often: nothing of it may be changed. */
  kept<K extends Kind>(kind: K): readonly Kinds[K][];
  /** Removes an object at once, finalizers or not. */
  remove(kind: Kind, ref: ObjectRef): void;
  /** What a kubelet does at the end of a pod's grace period. */
  finishTermination(pod: ObjectRef): void;
  /** While set, every call throws `error` and watches end; undefined brings the server back. */
  fail(error: Error | undefined): void;
  /** Running watches bring nothing any more and do not end, as over a connection that is dead at the other end. */
  silenceWatches(): void;
  /** Forgets the history: running watches and those from older versions are `expired`. */
  compact(): void;
  /** Keeps what there is now. What is returned brings it back, versions included, and ends every watch: a backup that is restored. */
  snapshot(): () => void;
  /** Serves an absent kind from now on: its CustomResourceDefinition was installed. */
  serve(kind: Kind): void;
  /** Answers 404 to everything of the kind until it is served again; its objects stay. */
  unserve(kind: Kind): void;
}

/** An empty fake API server. */
export function createFakeKube(options: FakeKubeOptions = {}): FakeKube {
  const storage = new FakeStorage(options.now ?? (() => Date.now()));
  const absent = new Set(options.absent ?? []);
  const state: FakeState = {
    storage,
    absent,
    opened: 0,
    silenced: 0,
    failure: undefined,
    atOnce: options.podsTerminate === 'at-once',
    read: options.sharesReads === true ? (object) => object : copyOf,
  };
  return {
    ...fakeReads(state),
    ...fakeWrites(state),
    watch: fakeWatch(state),
    put: (kind, object) => copyOf(storage.put(kind, object)) as never,
    version: () => storage.version,
    objects: (kind) => storage.all(kind).map(copyOf) as never,
    kept: (kind) => storage.all(kind) as never,
    remove: (kind, ref) => {
      const object = storage.find(kind, ref);
      if (object !== undefined) storage.remove(kind, object);
    },
    finishTermination: (ref) => {
      const pod = storage.find('Pod', ref);
      if (pod?.metadata.deletionTimestamp !== undefined) storage.delete('Pod', pod, 0);
    },
    fail: (error) => {
      state.failure = error;
      storage.announce();
    },
    silenceWatches: () => {
      state.silenced = state.opened;
    },
    compact: () => {
      storage.compact();
    },
    snapshot: () => storage.snapshot(),
    serve: (kind) => {
      absent.delete(kind);
    },
    unserve: (kind) => {
      absent.add(kind);
      storage.announce();
    },
  };
}

interface FakeState {
  readonly storage: FakeStorage;
  readonly absent: Set<Kind>;
  readonly atOnce: boolean;
  /** An object as a reader gets it. */
  readonly read: <T>(object: T) => T;
  failure: Error | undefined;
  /** Watches so far, and how many of the first of them are silent. */
  opened: number;
  silenced: number;
}

/** Throws as the server would before it looks at any object. */
function admit({ failure, absent }: FakeState, kind: Kind, ref?: { name?: string; namespace?: string }): void {
  if (failure !== undefined) throw failure;
  if (absent.has(kind)) {
    // Of a call for one object the client says that it may work later (kube/client-api.ts).
    const type = ref === undefined ? 'NotFound' : 'Unavailable';
    throw new DomainError(type, `${kind}: the server could not find the requested resource`);
  }
  if (ref !== undefined && resources[kind].namespaced && ref.namespace === undefined) {
    throw new DomainError('Invalid', `${kind} ${ref.name ?? ''} is named without its namespace`);
  }
}

function fakeReads(state: FakeState): Pick<KubeClient, 'get' | 'list' | 'listForWatch' | 'serverVersion'> {
  const { storage } = state;
  const listed = async <K extends Kind>(kind: K, options: ListOptions, give: (object: Kinds[K]) => Kinds[K]) => {
    await Promise.resolve();
    admit(state, kind);
    const items = storage.all(kind).filter((object) => isSelected(object, options));
    return { items: items.map((item) => give(item as Kinds[K])), resourceVersion: storage.version };
  };
  return {
    get: async <K extends Kind>(kind: K, ref: ObjectRef) => {
      await Promise.resolve();
      admit(state, kind, ref);
      return state.read(storage.find(kind, ref)) as Kinds[K] | undefined;
    },
    listForWatch: <K extends Kind>(
      kind: K,
      options: ListOptions & { transform?: (object: Kinds[K]) => Kinds[K] } = {},
    ) => {
      const { transform = (object) => object } = options;
      return listed(kind, options, (object) => transform(copyOf(object)));
    },
    list: async (kind, options = {}) => (await listed(kind, options, state.read)).items,
    serverVersion: async () => {
      await Promise.resolve();
      if (state.failure !== undefined) throw state.failure;
      return 'v1.36.1';
    },
  };
}

function fakeWrites(state: FakeState): Pick<KubeClient, 'create' | 'patch' | 'delete' | 'evict'> {
  const { storage } = state;
  const remove = (kind: Kind, object: Kinds[Kind], grace: number | undefined): void => {
    const seconds = kind === 'Pod' && !state.atOnce ? graceOf(object as Pod, grace) : 0;
    storage.delete(kind, object, seconds);
  };
  return {
    create: async <K extends Kind>(kind: K, object: Omit<Kinds[K], 'apiVersion' | 'kind'>) => {
      await Promise.resolve();
      const { name, generateName } = object.metadata;
      admit(state, kind, object.metadata);
      if (name === undefined && generateName === undefined) {
        throw new DomainError(
          'Invalid',
          `create ${kind}: metadata.name: Required value: name or generateName is required`,
        );
      }
      const existing = name === undefined ? undefined : storage.find(kind, refOf(object));
      const outcome = existing === undefined ? 'created' : 'exists';
      return { outcome, object: copyOf(existing ?? storage.create(kind, object)) as Kinds[K] };
    },
    patch: async <K extends Kind>(kind: K, ref: ObjectRef, patch: object, options?: { subresource?: 'status' }) => {
      await Promise.resolve();
      admit(state, kind, ref);
      const object = storage.find(kind, ref);
      if (object === undefined) return { outcome: 'gone' };
      const { resourceVersion, uid } =
        (patch as { metadata?: { resourceVersion?: string; uid?: string } }).metadata ?? {};
      const { metadata } = object;
      if ((resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion) return { outcome: 'conflict' };
      if ((uid ?? metadata.uid) !== metadata.uid) return { outcome: 'conflict' };
      const next = storage.patch(kind, object, copyOf(patch), options?.subresource);
      return { outcome: 'patched', object: copyOf(next) as Kinds[K] };
    },
    delete: async (kind, ref, options = {}) => {
      await Promise.resolve();
      admit(state, kind, ref);
      const object = storage.find(kind, ref);
      if (object === undefined || (options.uid ?? object.metadata.uid) !== object.metadata.uid) return 'gone';
      remove(kind, object, options.gracePeriodSeconds);
      return 'deleted';
    },
    evict: async ({ uid, gracePeriodSeconds, ...ref }) => {
      await Promise.resolve();
      admit(state, 'Pod', ref);
      const pod = storage.find('Pod', ref) as Pod | undefined;
      if (pod === undefined || pod.metadata.uid !== uid) return { outcome: 'gone' };
      const message = takeDisruption(storage, pod);
      if (message !== undefined) return { outcome: 'blocked', message };
      remove('Pod', pod, gracePeriodSeconds);
      return { outcome: 'evicted' };
    },
  };
}

/** Spends one disruption of the pod's budget; a sentence when there is none to spend. */
function takeDisruption(storage: FakeStorage, pod: Pod): string | undefined {
  // The API server lets go of what does not run without asking any budget.
  if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase !== 'Running') return undefined;
  const budgets = (storage.all('PodDisruptionBudget') as PodDisruptionBudget[]).filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.metadata.namespace && selects(spec.selector, pod.metadata.labels),
  );
  if (budgets.length > 1) {
    return 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  }
  const [budget] = budgets;
  if (budget === undefined || mayIgnoreBudget(pod, budget)) return undefined;
  const allowed = budget.status?.disruptionsAllowed ?? 0;
  if (allowed <= 0) return "Cannot evict pod as it would violate the pod's disruption budget.";
  storage.patch('PodDisruptionBudget', budget, { status: { disruptionsAllowed: allowed - 1 } }, 'status');
  return undefined;
}

/** A pod that is not ready: always under `AlwaysAllow`, else when the budget is healthy without it. */
function mayIgnoreBudget(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true) return false;
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return desiredHealthy > 0 && currentHealthy >= desiredHealthy;
}

function fakeWatch(state: FakeState): KubeClient['watch'] {
  const { storage } = state;
  return async <K extends Kind>(
    kind: K,
    options: Parameters<KubeClient['watch']>[1],
    onEvent: (event: WatchEvent<Kinds[K]>) => void,
  ) => {
    await Promise.resolve();
    admit(state, kind);
    if (compareVersions(options.resourceVersion, storage.floor) < 0) return 'expired';
    const own = ++state.opened;
    const { restores } = storage;
    options.onOpen?.();
    let version = options.resourceVersion;
    let scheduled = false;
    return new Promise((resolve, reject) => {
      const stop = (settle: () => void): void => {
        unsubscribe();
        options.signal.removeEventListener('abort', drain);
        settle();
      };
      const drain = (): void => {
        scheduled = false;
        if (options.signal.aborted) stop(() => resolve('ended'));
        else if (own <= state.silenced) return;
        else if (state.failure !== undefined || state.absent.has(kind) || storage.restores !== restores)
          stop(() => resolve('ended'));
        else if (compareVersions(version, storage.floor) < 0) stop(() => resolve('expired'));
        else {
          try {
            for (const entry of storage.since(version, kind)) {
              version = entry.version;
              const event = eventOf(entry, options);
              if (event !== undefined) onEvent(event as WatchEvent<Kinds[K]>);
            }
          } catch (error) {
            stop(() => reject(error instanceof Error ? error : new Error(String(error))));
            return;
          }
          if (options.timeoutSeconds !== undefined) stop(() => resolve('ended'));
        }
      };
      // Later, as over a network: a writer gets its answer before any watch sees the write.
      const schedule = (): void => {
        if (scheduled) return;
        scheduled = true;
        setImmediate(drain);
      };
      const unsubscribe = storage.onWrite(schedule);
      options.signal.addEventListener('abort', drain, { once: true });
      schedule();
    });
  };
}

/** A write as a watch with selectors sees it: what leaves the selection is deleted, what enters is added. */
function eventOf(
  { type, object, previous }: ReturnType<FakeStorage['since']>[number],
  options: ListOptions,
): WatchEvent<Kinds[Kind]> | undefined {
  const before = previous !== undefined && isSelected(previous, options);
  const after = type !== 'DELETED' && isSelected(object, options);
  if (!before && !after) return undefined;
  return { type: !after ? 'DELETED' : before ? 'MODIFIED' : 'ADDED', object: copyOf(object) };
}

function isSelected(object: Kinds[Kind], { namespace, labelSelector, fieldSelector }: ListOptions): boolean {
  if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
  if (labelSelector !== undefined && !selects(parseLabelSelector(labelSelector), object.metadata.labels)) {
    return false;
  }
  return fieldSelector === undefined || matchesFields(fieldSelector, object);
}
