import type {
  Condition,
  CSINode,
  DaemonSet,
  KubernetesObject,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodTemplate,
  ReplicationController,
  Service,
  StorageClass,
  VolumeAttachment,
  Workload,
} from '../api/kubernetes.js';
import type { CapacityBuffer } from '../api/autoscaling/capacity-buffer.js';
import type { EC2NodeClass } from '../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { KWOKNodeClass } from '../api/kwok/kwok-node-class.js';
import type { DisruptionPause } from '../api/stowage/disruption-pause.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';

/** Every kind that Stowage reads or writes. */
export interface Kinds {
  Pod: Pod;
  Node: Node;
  Namespace: Namespace;
  DaemonSet: DaemonSet;
  Deployment: Workload;
  ReplicaSet: Workload;
  StatefulSet: Workload;
  ReplicationController: ReplicationController;
  PodTemplate: PodTemplate;
  Service: Service;
  PodDisruptionBudget: PodDisruptionBudget;
  PersistentVolumeClaim: PersistentVolumeClaim;
  PersistentVolume: PersistentVolume;
  StorageClass: StorageClass;
  CSINode: CSINode;
  VolumeAttachment: VolumeAttachment;
  Lease: Lease;
  NodePool: NodePool;
  NodeClaim: NodeClaim;
  NodeOverlay: NodeOverlay;
  EC2NodeClass: EC2NodeClass;
  KWOKNodeClass: KWOKNodeClass;
  DisruptionPolicy: DisruptionPolicy;
  DisruptionPause: DisruptionPause;
  CapacityBuffer: CapacityBuffer;
  Event: KubernetesEvent;
  CustomResourceDefinition: CustomResourceDefinitionObject;
  SelfSubjectAccessReview: SelfSubjectAccessReview;
  SelfSubjectReview: SelfSubjectReview;
  SubjectAccessReview: SubjectAccessReview;
  TokenReview: TokenReview;
}

/** The fields of an apiextensions.k8s.io/v1 CustomResourceDefinition that Stowage reads. */
interface CustomResourceDefinitionObject extends KubernetesObject {
  spec: object;
  status?: { conditions?: Condition[] };
}

/**
 * An authorization.k8s.io/v1 SelfSubjectAccessReview: whether the caller may do something. The response is not stored.
 */
export interface SelfSubjectAccessReview extends KubernetesObject {
  spec: { resourceAttributes: ResourceAttributes };
  status?: { allowed: boolean; reason?: string };
}

/** One verb on one resource; cluster-wide without a namespace. */
export interface ResourceAttributes {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** An authorization.k8s.io/v1 SubjectAccessReview: whether a user may do something. The response is not stored. */
interface SubjectAccessReview extends KubernetesObject {
  readonly spec: SelfSubjectAccessReview['spec'] & { readonly user: string; readonly groups?: readonly string[] };
  readonly status?: SelfSubjectAccessReview['status'];
}

/** An authentication.k8s.io/v1 TokenReview: whose token it is. The response is not stored. */
interface TokenReview extends KubernetesObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
  };
}

/** An authentication.k8s.io/v1 SelfSubjectReview: the identity of the caller. The response is not stored. */
interface SelfSubjectReview extends KubernetesObject {
  status?: { userInfo?: { username?: string } };
}

/** A core/v1 Event. */
export interface KubernetesEvent extends KubernetesObject {
  involvedObject: {
    apiVersion?: string;
    kind?: string;
    name?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
  };
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
}

export type Kind = keyof Kinds;

export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string;
}

/**
 * The Kubernetes API as used by Stowage. A missing object is a value, not an error; an unreachable or refusing API
 * server is thrown as a `DomainError` (`Unavailable`, `Denied`, `Throttled`, `Invalid`).
 */
export interface KubeClient {
  get<K extends Kind>(kind: K, ref: ObjectRef): Promise<Kinds[K] | undefined>;
  /** All objects of a kind from the API server; handles paging. */
  list<K extends Kind>(kind: K, options?: ListOptions): Promise<Kinds[K][]>;
  /** `exists` if the name is taken; nothing changes then. */
  create<K extends Kind>(
    kind: K,
    object: NewObject<Kinds[K]>,
  ): Promise<{ outcome: 'created' | 'exists'; object: Kinds[K] }>;
  /**
   * A JSON merge patch. With `resourceVersion` or `uid` in `patch.metadata` a changed object gives `conflict`; `gone`
   * if the object does not exist.
   */
  patch<K extends Kind>(
    kind: K,
    ref: ObjectRef,
    patch: object,
    options?: { subresource?: 'status' },
  ): Promise<{ outcome: 'patched'; object: Kinds[K] } | { outcome: 'gone' | 'conflict' }>;
  /** Deletes only the object with this UID; `gone` if it does not exist. */
  delete(
    kind: Kind,
    ref: ObjectRef,
    options?: { uid?: string; gracePeriodSeconds?: number },
  ): Promise<'deleted' | 'gone'>;
  /** The eviction API with a UID precondition (termination/eviction). `blocked` has the API server's message (PDB). */
  evict(pod: {
    namespace: string;
    name: string;
    uid: string;
    gracePeriodSeconds?: number;
  }): Promise<{ outcome: 'evicted' | 'gone' } | { outcome: 'blocked'; message: string }>;
  /** Watches from `resourceVersion` until `signal` aborts or the connection ends; `expired` asks for a new list. */
  watch<K extends Kind>(
    kind: K,
    options: {
      resourceVersion: string;
      signal: AbortSignal;
      /** The watch ends after this time; default five to ten minutes. */
      timeoutSeconds?: number;
      /** Called when the server has accepted the watch, before any event. */
      onOpen?: () => void;
    } & ListOptions,
    onEvent: (event: WatchEvent<Kinds[K]>) => void,
  ): Promise<'ended' | 'expired'>;
  /** A list with the resource version from which to watch. */
  listForWatch<K extends Kind>(
    kind: K,
    options?: ListOptions & {
      /** Applied to every object when its page arrives, so that a large list is never in memory as a whole. */
      transform?: (object: Kinds[K]) => Kinds[K];
      /** Reads only the first object, for callers that need the version. */
      versionOnly?: boolean;
      signal?: AbortSignal;
    },
  ): Promise<{ items: Kinds[K][]; resourceVersion: string }>;
  /** The server's version, such as `v1.36.1`. */
  serverVersion(): Promise<string>;
  /** The server's clock in whole seconds, as milliseconds since the epoch; undefined if its response has no time. */
  serverTime?(): Promise<number | undefined>;
  /** Base64 of the PEM CA certificates for the server; undefined if the system's are used. */
  certificateAuthority?(): Promise<string | undefined>;
}

/** Input of `create`: the client adds apiVersion and kind. */
export type NewObject<T extends KubernetesObject> = Omit<T, 'apiVersion' | 'kind'>;

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/** Publishes Kubernetes Events, deduplicated by reason and values (events/repeats). Losing one is harmless. */
export interface EventRecorder {
  publish(event: EventToPublish): void;
}

export interface EventToPublish {
  readonly regarding: { apiVersion: string; kind: string; name: string; namespace?: string; uid?: string };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Values that distinguish this event from others with its reason; default the message. */
  readonly dedupeBy?: readonly string[];
  /** Default two minutes. */
  readonly dedupeMs?: number;
}

/** A slim, watched copy of the cluster: only the fields that packing, disruption and status read. */
export interface ClusterCache {
  /** Lists, then watches, until `signal` aborts. Resolves once every kind was listed. */
  start(signal: AbortSignal): Promise<void>;
  /** The watched kinds; `all`, `get` and `on` throw for others. */
  readonly kinds: readonly Kind[];
  readonly synced: boolean;
  /** Kinds not listed yet. Empty once `synced`. */
  readonly unsynced: readonly Kind[];
  /** False from the first failed request to the API server until one succeeds again. */
  readonly connected: boolean;
  /** The time until which the cache is complete for all kinds, milliseconds; undefined before all are listed. */
  readonly freshAt: number | undefined;
  /** Returns the same array until the kind changes. */
  all<K extends Kind>(kind: K): readonly Kinds[K][];
  get<K extends Kind>(kind: K, ref: ObjectRef): Kinds[K] | undefined;
  podsOnNode(nodeName: string): readonly Pod[];
  nodeByProviderId(providerId: string): Node | undefined;
  nodeClaimByProviderId(providerId: string): NodeClaim | undefined;
  /** NodeClaims whose annotation lists the pod (`namespace/name`) as planned on them. */
  nodeClaimsPlannedFor(pod: string): readonly NodeClaim[];
  /**
   * Called after the cache has applied a change; returns a function that unsubscribes. An exception affects neither the
   * cache nor other handlers.
   */
  on<K extends Kind>(
    kind: K,
    handler: (change: { type: 'added' | 'modified' | 'deleted'; object: Kinds[K]; previous?: Kinds[K] }) => void,
  ): () => void;
  /** Like `on`, and called immediately for each existing object, as added. */
  onEach: ClusterCache['on'];
  /** Resolves once the cache has an object at least as new as the write with `resourceVersion`. */
  caughtUp(kind: Kind, ref: ObjectRef, resourceVersion: string, signal?: AbortSignal): Promise<void>;
  /**
   * Whether the cache has the state of the kind at `since` (milliseconds since the epoch) or later; asks the API server
   * if the watch does not show it. If the cache is not fresh, an object missing in it may exist.
   */
  isFresh(kind: Kind, since: number): Promise<boolean>;
  /** Resolves when `condition` is true, checked after every change; rejects when `signal` aborts. */
  until(condition: () => boolean, signal: AbortSignal): Promise<void>;
}
