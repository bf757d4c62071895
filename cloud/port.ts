import type { KubernetesObject } from '../api/kubernetes.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { ConditionChange } from '../core/conditions.js';
import type { DomainError } from '../core/failures.js';
import type { InstanceType } from '../core/instance-type.js';
import type { Result } from '../core/result.js';
import type { Resources } from '../core/quantities.js';

/**
 * What Stowage asks of a cloud. Every method may be called twice with no harm. Expected outcomes are values;
 * anything else is thrown as a `DomainError` (core/failures.ts) whose type says whether to try again.
 */
export interface CloudProvider {
  /** Short name for metrics and logs, such as `aws`. */
  readonly name: string;
  /** The node class kind that this provider serves: claims and pools of other kinds are not ours. */
  readonly nodeClassKind: { readonly group: string; readonly kind: string };
  /** Label keys that this provider's instance types define besides the core ones. */
  readonly wellKnownLabels: readonly string[];
  /** Those of them that may be empty on a claim until the cloud tells them of the instance. */
  readonly openLabels?: readonly string[];

  /** The catalogue for a pool under its node class, with current prices and availability (instance-types/offerings). */
  instanceTypes(pool: NodePool, nodeClass: NodeClass): Promise<readonly InstanceType[]>;

  /** Launches the one instance that the claim may have. The same claim UID never gets two (invariants/one-instance). */
  launch(request: LaunchRequest): Promise<Result<LaunchedInstance, LaunchRefusal>>;

  /** The instance of a provider id; undefined once it is terminated or unknown. */
  get(providerId: string): Promise<CloudInstance | undefined>;

  /**
   * How an instance ended; undefined while it is running or starting, and where the cloud does not know it: it may not know it yet. Absent where the
   * provider's instances do not end by themselves.
   */
  whyEnded?(providerId: string): Promise<EndedInstance | undefined>;

  /** Every instance of this cluster that is not terminated. */
  list(): Promise<readonly CloudInstance[]>;

  /**
   * Begins termination; `gone` when the instance no longer exists. `launchedAt` is when its claim says that it was launched, milliseconds of the
   * epoch: a cloud that lags behind itself may not know it yet.
   */
  terminate(providerId: string, launchedAt?: number): Promise<'terminating' | 'gone'>;

  /** Restarts the machine under a node that stays the same instance; `gone` when it no longer exists. */
  rebootInstance?(providerId: string): Promise<'rebooting' | 'gone'>;

  /** Node conditions by which this provider's machines say that they are broken; absent where none do (repair/policies). */
  readonly repairPolicies?: readonly RepairPolicy[];

  /** Completes the tags that need the node's and claim's names (launch/tags-after-registration); those that are there stay as they are. */
  tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void>;

  /**
   * Resolves a node class against the cloud: its new status with conditions. Never throws for bad input. `pools` are those that launch
   * from it: what they may launch is tried out.
   */
  resolveNodeClass(nodeClass: NodeClass, pools?: readonly NodePool[]): Promise<NodeClassResolution>;

  /** Removes what the cloud holds for a node class that is being deleted (instance profiles, launch templates). */
  cleanUpNodeClass(nodeClass: NodeClass): Promise<void>;

  /** The provider's own reasons why a launched claim no longer matches its node class (drift/node-class). */
  drift(claim: NodeClaim, pool: NodePool, nodeClass: NodeClass): Promise<string | undefined>;

  /** Remembers that offerings are out of capacity; the caller keeps the durable timer. */
  markUnavailable(offerings: readonly UnavailableOffering[]): void;

  /**
   * Takes in what a registered node really has: what is promised of its type and image from then on shrinks to it
   * (instance-types/known-memory). Any number of times, in any order.
   */
  learnCapacity?(observed: ObservedCapacity): void;

  /** Whether a capacity reservation is about to take its instances away (reserved-capacity/block-ends). */
  isReservationEnding?(reservationId: string): Promise<boolean>;

  /**
   * What NodePools have to be told since this was last asked, by what their node classes resolve to; asked every half minute. Absent where
   * there is never anything to tell.
   */
  readonly poolEvents?: ((pools: readonly PoolOfClass[]) => Promise<readonly PoolEvent[]>) | undefined;

  /** Removes what earlier launches left in the cloud and nothing uses any more. */
  sweep?(nodeClasses: readonly NodeClass[], claims: readonly NodeClaim[]): Promise<void>;

  /** False where nobody limits how often it is called; absent otherwise. */
  readonly isMetered?: boolean;
  /**
   * When the cloud last answered a call of its own, milliseconds of the epoch: a refusal is an answer, one for too many requests is none.
   * Undefined before the first.
   */
  readonly answeredAt?: number | undefined;

  /** Size of the largest user data rendered lately, in bytes before encoding, by the node class's name. */
  readonly userDataBytes?: ReadonlyMap<string, number>;

  /** Where on-demand prices come from and when the cloud had them, milliseconds of the epoch; undefined before they were read. */
  readonly priceList?: { readonly source: string; readonly at: number } | undefined;

  /** What there is to see of the account; absent where the provider has none. */
  readonly account?: CloudAccount;

  /** Interruption notices; absent where the provider has none or no queue is configured. */
  readonly interruptions?: InterruptionSource;
}

/** What a node of a type and image really has, and what its claim said that it would have. */
export interface ObservedCapacity {
  readonly instanceType: string;
  readonly imageId: string;
  /** Hash of the node class as it was at the launch: disks and devices depend on it. */
  readonly nodeClassHash: string;
  readonly capacity: Resources;
  readonly expected: Resources;
}

/** A look into the account that a provider works in, for people who set it up. Nothing is changed by it. */
export interface CloudAccount {
  /** Where it is, for a person, such as `region us-west-2`. */
  readonly place: string;
  /** The cloud's clock, milliseconds of the epoch; undefined where its answer names no time. */
  time(): Promise<number | undefined>;
  /** Resolves where the cloud takes the credentials, whatever they allow. Throws what it says otherwise. */
  authenticate(): Promise<void>;
  /** Every reading call that the provider makes, tried out: by permission, what refused it; undefined for those that are allowed. */
  permissions(): Promise<ReadonlyMap<string, DomainError | undefined>>;
  /** Tries a launch from a resolved node class out, as `resolveNodeClass` does. */
  tryOut(nodeClass: NodeClass, pools?: readonly NodePool[]): Promise<ConditionChange>;
  /** The interruption queue; undefined where none is configured. */
  readonly queue?: { readonly name: string; look(): Promise<QueueState> };
}

export interface QueueState {
  /** Messages that nobody has received yet, about; undefined where nobody let the provider read the queue's attributes. */
  readonly waiting: number | undefined;
}

/** A node condition that means that the machine is broken, and how long that is borne. */
export interface RepairPolicy {
  readonly conditionType: string;
  readonly conditionStatus: 'True' | 'False' | 'Unknown';
  /** Milliseconds. */
  readonly tolerationMs: number;
}

/** A provider's node class as the API server has it. */
export interface NodeClass extends KubernetesObject {
  readonly spec: object;
  readonly status?: object;
}

/** A Kubernetes event that a provider asks for; the caller knows the object that it is about. */
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
  /** The whole new status, conditions included; the caller writes it when it differs. */
  readonly status: object;
  /** Labels or annotations that the node class must carry (hashes). */
  readonly annotations: Readonly<Record<string, string>>;
  /** Events to publish. */
  readonly events: readonly ProviderEvent[];
  /** When to look again, in milliseconds. */
  readonly requeueAfterMs: number;
}

export interface LaunchRequest {
  readonly claim: NodeClaim;
  readonly nodeClass: NodeClass;
  /** At most 64 characters; the same token gives the same instance. */
  readonly clientToken: string;
  /** True only when nothing can have been launched for the claim before; spares looking for it. */
  readonly firstAttempt?: boolean;
  /** What the NodeOverlays make of the provider's instance types for the pool; absent where there are none (node-overlays/at-launch). */
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
  /** Offerings that refused although the launch succeeded (launch/unavailable-offerings). */
  readonly unavailable: readonly UnavailableOffering[];
  /** What the owner of the claim should know all the same. */
  readonly events?: readonly ProviderEvent[];
  /** Attempts that failed although the launch succeeded. */
  readonly failures?: readonly LaunchFailure[];
}

/** Attempts of a launch that failed alike, whatever for. A launch that throws has them in the error's `details.failures`. */
export interface LaunchFailure {
  readonly zone: string;
  readonly capacityType: string;
  /** As the owner of the claim is told it; the cloud's own code where there was no capacity. */
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
  /** The placement group, or its partition as `group/number`, within which it refused. */
  readonly placement?: string;
  /** The capacity reservation that has no room, where `capacityType` is `reserved`. */
  readonly reservationId?: string;
  /** Milliseconds of the epoch; absent where the provider's default applies. */
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
  /** Milliseconds of the epoch. */
  readonly launchedAt: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** An instance that the cloud knows and that runs no more. */
export interface EndedInstance {
  /** For a person, in the cloud's words. */
  readonly message: string;
  /** Whether the cloud took back what it had lent, which says nothing about how the instance was launched. */
  readonly isReclaimed: boolean;
}

export type InterruptionKind =
  | 'spot_interrupted'
  | 'rebalance_recommendation'
  | 'instance_stopped'
  | 'instance_terminated'
  | 'capacity_reservation_interrupted'
  | 'scheduled_change'
  | 'instance_status'
  | 'system_status'
  | 'event_status';

export interface Interruption {
  readonly kind: InterruptionKind;
  readonly instanceId: string;
  /** When the cloud said so, milliseconds of the epoch. */
  readonly at: number;
  /** The cloud's own id of the message: the same message never counts twice. */
  readonly messageId: string;
}

interface InterruptionSource {
  /**
   * Receives until `signal` aborts. `handle` resolves once the notice is durable; only then is the message deleted.
   * Malformed and unknown messages are deleted and counted through `onIgnored`.
   */
  run(
    handle: (interruption: Interruption) => Promise<void>,
    signal: AbortSignal,
    onIgnored?: (reason: string) => void,
  ): Promise<void>;
}
