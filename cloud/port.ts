import type { KubernetesObject } from '../api/kubernetes.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { ConditionChange, RepairPolicy } from '../core/conditions.js';
import type { DomainError } from '../core/failures.js';
import type { InstanceType } from '../core/instance-type.js';
import type { Result } from '../core/result.js';
import type { Resources } from '../core/quantities.js';
import type { InterruptionNotice } from '../core/interruption-kinds.js';

/**
 * The interface to a cloud. Every method is idempotent. Expected outcomes are values; everything else is thrown as a
 * `DomainError` (core/failures.ts) whose type says whether to retry.
 */
export interface CloudProvider {
  /** Short name for metrics and logs, such as `aws`. */
  readonly name: string;
  /** The node class kind that this provider serves. Claims and pools of other kinds are not managed. */
  readonly nodeClassKind: { readonly group: string; readonly kind: string };
  /** Label keys of this provider's instance types in addition to the core ones. */
  readonly wellKnownLabels: readonly string[];
  /** Those of them that may be empty on a claim until the cloud reports them for the instance. */
  readonly openLabels?: readonly string[];

  /** The catalogue for a pool under its node class, with current prices and availability (instance-types/offerings). */
  instanceTypes(pool: NodePool, nodeClass: NodeClass): Promise<readonly InstanceType[]>;

  /** Launches the single instance of the claim. The same claim UID never gets two (invariants/one-instance). */
  launch(request: LaunchRequest): Promise<Result<LaunchedInstance, LaunchRefusal>>;

  /** The instance of a provider id; undefined once it is terminated or unknown. */
  get(providerId: string): Promise<CloudInstance | undefined>;

  /**
   * How an instance ended; undefined while it runs or starts, and if the cloud does not know it, possibly not yet.
   * Absent if the provider's instances never end unasked.
   */
  whyEnded?(providerId: string): Promise<EndedInstance | undefined>;

  /** Every instance of this cluster that is not terminated. */
  list(): Promise<readonly CloudInstance[]>;

  /**
   * Begins termination; `gone` if the instance no longer exists. `launchedAt` is the launch time in its claim,
   * milliseconds since the epoch: with eventual consistency the cloud may not know a new instance yet.
   */
  terminate(providerId: string, launchedAt?: number): Promise<'terminating' | 'gone'>;

  /** Restarts the machine of a node, which stays the same instance; `gone` if it no longer exists. */
  rebootInstance?(providerId: string): Promise<'rebooting' | 'gone'>;

  /** Node conditions that report a broken machine; absent if there are none (repair/policies). */
  readonly repairPolicies?: readonly RepairPolicy[];

  /**
   * Adds the tags that need the names of node and claim (launch/tags-after-registration); existing tags stay unchanged.
   */
  tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void>;

  /**
   * Resolves a node class against the cloud: its new status with conditions. Never throws for invalid input. `pools`
   * are those that launch from it; dry runs use what they may launch.
   */
  resolveNodeClass(nodeClass: NodeClass, pools?: readonly NodePool[]): Promise<NodeClassResolution>;

  /** Removes the cloud resources of a node class that is being deleted (instance profiles, launch templates). */
  cleanUpNodeClass(nodeClass: NodeClass): Promise<void>;

  /** The provider's own reasons why a launched claim no longer matches its node class (drift/node-class). */
  drift(claim: NodeClaim, pool: NodePool, nodeClass: NodeClass): Promise<string | undefined>;

  /** Marks offerings as unavailable; the caller keeps the durable timer. */
  markUnavailable(offerings: readonly UnavailableOffering[]): void;

  /**
   * Records the actual capacity of a registered node; the catalogue then uses it for this type and image if it is less
   * (instance-types/known-memory). Calls may repeat and come in any order.
   */
  learnCapacity?(observed: ObservedCapacity): void;

  /** Whether a capacity reservation is about to end and take its instances (reserved-capacity/block-ends). */
  isReservationEnding?(reservationId: string): Promise<boolean>;

  /**
   * Events for NodePools since the last call, given what their node classes resolve to; called every 30 seconds. Absent
   * if the provider has none.
   */
  readonly poolEvents?: ((pools: readonly PoolOfClass[]) => Promise<readonly PoolEvent[]>) | undefined;

  /** Removes cloud resources of earlier launches that are no longer used. */
  sweep?(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void>;

  /** False if calls are not rate limited; absent otherwise. */
  readonly isMetered?: boolean;
  /**
   * When the cloud last responded to a call, milliseconds since the epoch: an error is a response, throttling is not.
   * Undefined before the first.
   */
  readonly answeredAt?: number | undefined;

  /** By node class name: size of the largest user data rendered recently, in bytes before encoding. */
  readonly userDataBytes?: ReadonlyMap<string, number>;

  /** Source of on-demand prices and their time, milliseconds since the epoch; undefined before they were read. */
  readonly priceList?: { readonly source: string; readonly at: number } | undefined;

  /** Checks of the account; absent if the provider has no account. */
  readonly account?: CloudAccount;

  /** Interruption notices; absent if the provider has none or no queue is configured. */
  readonly interruptions?: InterruptionSource;
}

/** Actual capacity of a node of a type and image, and the capacity in its claim. */
export interface ObservedCapacity {
  readonly instanceType: string;
  readonly imageId: string;
  /** Hash of the node class at launch: disks and devices depend on it. */
  readonly nodeClassHash: string;
  readonly capacity: Resources;
  readonly expected: Resources;
}

/** Read-only checks of the provider's account, for operators who set it up. */
export interface CloudAccount {
  /** Location as text for people, such as `region us-west-2`. */
  readonly place: string;
  /** The cloud's clock, milliseconds since the epoch; undefined if its response has no time. */
  time(): Promise<number | undefined>;
  /** Resolves if the cloud accepts the credentials, also those without permissions; otherwise throws its error. */
  authenticate(): Promise<void>;
  /** Tries every reading call of the provider: by permission, the error if refused, undefined if allowed. */
  permissions(): Promise<ReadonlyMap<string, DomainError | undefined>>;
  /** Makes a dry run of a launch from a resolved node class, as `resolveNodeClass` does. */
  tryOut(nodeClass: NodeClass, pools?: readonly NodePool[]): Promise<ConditionChange>;
  /** The interruption queue; undefined where none is configured. */
  readonly queue?: { readonly name: string; look(): Promise<QueueState> };
}

export interface QueueState {
  /** Approximate number of messages not received yet; undefined without permission to read the queue's attributes. */
  readonly waiting: number | undefined;
}

/** A provider's node class as the API server has it. */
export interface NodeClass extends KubernetesObject {
  readonly spec: object;
  readonly status?: object;
}

/** A Kubernetes event requested by the provider; the caller knows the regarded object. */
export interface ProviderEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A NodePool and the node class that it launches from. */
export interface PoolOfClass {
  readonly pool: NodePool;
  readonly nodeClass: NodeClass;
}

export interface PoolEvent extends ProviderEvent {
  readonly pool: NodePool;
}

export interface NodeClassResolution {
  /** The whole new status including conditions; the caller writes it if it differs. */
  readonly status: object;
  /** Annotations that the node class must have (hashes). */
  readonly annotations: Readonly<Record<string, string>>;
  /** Events to publish. */
  readonly events: readonly ProviderEvent[];
  /** When to resolve again, in milliseconds. */
  readonly requeueAfterMs: number;
}

export interface LaunchRequest {
  readonly claim: NodeClaim;
  readonly nodeClass: NodeClass;
  /** At most 64 characters; the same token gives the same instance. */
  readonly clientToken: string;
  /** True only if nothing can have been launched for the claim before; saves the lookup. */
  readonly firstAttempt?: boolean;
  /**
   * Applies the NodeOverlays to the provider's instance types for the pool; absent if there are none
   * (node-overlays/at-launch).
   */
  readonly overlaid?: (types: readonly InstanceType[]) => readonly InstanceType[];
}

export interface LaunchedInstance {
  readonly providerId: string;
  readonly instanceId: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly imageId?: string;
  /** Labels that this instance's node will have (launch/labels). */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly pricePerHour?: number;
  /** Offerings that were refused although the launch succeeded (launch/unavailable-offerings). */
  readonly unavailable: readonly UnavailableOffering[];
  /** Events for the owner of the claim although the launch succeeded. */
  readonly events?: readonly ProviderEvent[];
  /** Attempts that failed although the launch succeeded. */
  readonly failures?: readonly LaunchFailure[];
}

/** Equal failed attempts of a launch. A launch that throws has them in the error's `details.failures`. */
export interface LaunchFailure {
  readonly zone: string;
  readonly capacityType: string;
  /** The reason as reported to the owner of the claim; the cloud's code if there was no capacity. */
  readonly reason: string;
  readonly count: number;
}

export interface LaunchRefusal {
  readonly kind: 'InsufficientCapacity' | 'NodeClassNotReady';
  /** For the condition and the event. */
  readonly message: string;
  readonly unavailable: readonly UnavailableOffering[];
  readonly events?: readonly ProviderEvent[];
  readonly failures?: readonly LaunchFailure[];
}

export interface UnavailableOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** The cloud's error code. */
  readonly reason: string;
  /** The placement group, or its partition as `group/number`, in which the launch was refused. */
  readonly placement?: string;
  /** The capacity reservation without room, if `capacityType` is `reserved`. */
  readonly reservationId?: string;
  /** Milliseconds since the epoch; absent: the provider's default applies. */
  readonly until?: number;
}

export interface CloudInstance {
  readonly providerId: string;
  readonly instanceId: string;
  readonly state: 'pending' | 'running' | 'shutting-down' | 'stopping' | 'stopped' | 'terminated';
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly imageId?: string;
  /** Milliseconds since the epoch. */
  readonly launchedAt: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** An instance that the cloud knows and that no longer runs. */
export interface EndedInstance {
  /** The cloud's description, for people. */
  readonly message: string;
  /** Whether the cloud reclaimed the instance (spot), which says nothing about how it was launched. */
  readonly isReclaimed: boolean;
}

interface InterruptionSource {
  /**
   * Receives until `signal` aborts. `handle` resolves once the notice is durable; only then is the message deleted.
   * Malformed and unknown messages are deleted and counted through `onIgnored`.
   */
  run(
    handle: (interruption: InterruptionNotice) => Promise<void>,
    signal: AbortSignal,
    onIgnored?: (reason: string) => void,
  ): Promise<void>;
}
