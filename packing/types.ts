import type { CapacityBuffer } from '../api/autoscaling/capacity-buffer.js';
import type {
  CSINode,
  DaemonSet,
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
  Workload,
} from '../api/kubernetes.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { NodeOverlay } from '../api/karpenter/node-overlay.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Commitment } from '../api/stowage/commitments.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import type { InstanceType } from '../core/instance-type.js';
import type { Resources } from '../core/quantities.js';
import type { WrittenRequirement } from '../api/karpenter/requirements.js';

/** Where the next pass continues: the first pod (`namespace/name`) of those that take turns. `isOfOthers`: a pass of all other pods comes first. */
export interface Resume {
  readonly from: string;
  readonly isOfOthers?: boolean;
}

/** The objects that packing reads, as the API server has them, in any order. Absent lists count as empty. */
export interface ClusterObjects {
  /** Pods with `spec.nodeName` run; all others except DaemonSet pods are pending. */
  readonly pods: readonly Pod[];
  readonly nodes?: readonly Node[];
  readonly nodeClaims?: readonly NodeClaim[];
  readonly nodePools: readonly NodePool[];
  readonly daemonSets?: readonly DaemonSet[];
  readonly namespaces?: readonly Namespace[];
  readonly services?: readonly Service[];
  readonly replicaSets?: readonly Workload[];
  readonly statefulSets?: readonly Workload[];
  readonly replicationControllers?: readonly ReplicationController[];
  readonly podDisruptionBudgets?: readonly PodDisruptionBudget[];
  readonly persistentVolumeClaims?: readonly PersistentVolumeClaim[];
  readonly persistentVolumes?: readonly PersistentVolume[];
  readonly storageClasses?: readonly StorageClass[];
  readonly csiNodes?: readonly CSINode[];
  readonly nodeOverlays?: readonly NodeOverlay[];
  readonly capacityBuffers?: readonly CapacityBuffer[];
  readonly disruptionPolicies?: readonly DisruptionPolicy[];
  /** What CapacityBuffers may refer to. */
  readonly deployments?: readonly Workload[];
  readonly podTemplates?: readonly PodTemplate[];
}

export interface PackingSettings {
  /** `Ignore` drops every preference before planning (PREFERENCE_POLICY). */
  readonly preferencePolicy: 'Respect' | 'Ignore';
  /** What happens when `minValues` cannot be met (MIN_VALUES_POLICY; min-values/strict-and-best-effort). */
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Label keys that instance types define besides `coreWellKnownLabels` (provider labels). */
  readonly wellKnownLabels: readonly string[];
  /** Maximum number of instance types that a claim lists. */
  readonly listedTypes: number;
  /**
   * Added to the price of every node to launch, dollars per hour, on top of what DisruptionPolicies add; absent:
   * nothing.
   */
  readonly nodeCost?: number;
  /**
   * Whether to find the cheapest plan, whatever its number of nodes; absent: fewer nodes may cost a little more
   * (provisioning/fewest-nodes).
   */
  readonly isCheapest?: boolean;
  /** Savings Plans and reserved instances (instance-types/commitments). */
  readonly commitments?: readonly Commitment[];
  /** Whether the plan explains what excludes the instance types of each NodePool (`Plan.explanations`). */
  readonly explainTypes?: boolean;
  /** Default spread for pods without spread constraints (provisioning/default-spread). */
  readonly defaultTopologySpread?: readonly {
    maxSkew: number;
    topologyKey: string;
    whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  }[];
}

export interface PackingInput {
  readonly objects: ClusterObjects;
  /** Instance types by NodePool name; pools of one node class may share one array. */
  readonly catalogues: ReadonlyMap<string, readonly InstanceType[]>;
  readonly settings: PackingSettings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /**
   * Nodes (by name) that the plan assumes to be removed: their reschedulable pods are pending. Deleting nodes are
   * always treated so.
   */
  readonly withoutNodes?: ReadonlySet<string>;
  /**
   * Pods (`namespace/name`) that a question is about: the pass always considers and explains them. With `explainTypes`
   * only they get an explanation by instance type. Such a plan answers a question; no other pass resumes from it.
   */
  readonly about?: ReadonlySet<string>;
  /** Where the previous pass stopped, if it left pods for this one (`Plan.resume`). */
  readonly resume?: Resume;
}

/** One node to launch. */
export interface PlannedClaim {
  readonly nodePool: string;
  /** `namespace/name`, sorted. Pods that stand for a CapacityBuffer are `namespace/<buffer>-buffer-<n>`. */
  readonly pods: readonly string[];
  /**
   * Those of them that must be nominated to the node for kube-scheduler (provisioning/nominated-pods); absent: none.
   */
  readonly nominated?: readonly string[];
  /** Names of the types that can hold the pods, cheapest first, at most `listedTypes`. */
  readonly instanceTypes: readonly string[];
  readonly cheapest: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly pricePerHour: number;
    /** The commitment that covers it. */
    readonly commitment?: string;
  };
  /**
   * All requirements of the node, sorted by key and operator. Of the instance type only the minimum number to choose
   * from (`Exists` with `minValues`), if the NodePool sets it.
   */
  readonly requirements: readonly WrittenRequirement[];
  /** Label values chosen by packing (for keys that no instance type determines). */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations for the NodeClaim (min-values-relaxed, overlay marks). */
  readonly annotations: Readonly<Record<string, string>>;
  /** Requests of the pods plus the smallest daemon overhead of the listed types (scheduling/claim-requests). */
  readonly requests: Resources;
  /** Why this type, as text for people. */
  readonly why: string;
}

/** Why a pod was not placed. */
export interface Unschedulable {
  readonly pod: string;
  /** One sentence for people. */
  readonly reason: string;
  /** The same as data: the first blocker of each NodePool that was considered. */
  readonly blockers: readonly Blocker[];
  /** Index into `Plan.explanations`; equal pods share one. */
  readonly explanation?: number;
}

/** What excludes pods. */
export interface Cause {
  readonly reason:
    | 'Requirements'
    | 'Taints'
    | 'Resources'
    | 'Limits'
    | 'Topology'
    | 'HostPorts'
    | 'Volumes'
    | 'Offerings'
    | 'MinValues'
    | 'Invalid'
    | 'NotReady'
    | 'NotExplained';
  /** The label key, resource, topology key or object concerned. */
  readonly subject?: string;
  readonly message: string;
  /** When the excluded offerings are tried again, RFC 3339. */
  readonly until?: string;
  /** The label key that was probably meant instead of `subject`. */
  readonly didYouMean?: string;
}

export interface Blocker extends Cause {
  readonly nodePool?: string;
}

/** Instance types of a NodePool that the same cause excludes first. */
export interface TypeGroup extends Cause {
  /** As text for people: "m5.large", "m5 (12 types)", "c5, m5 and 7 other families (140 types)". */
  readonly group: string;
  /** Number of types. */
  readonly types: number;
  /** Names of the types, sorted, at most twenty. */
  readonly instanceTypes: readonly string[];
}

/**
 * What excludes the instance types of each NodePool that may launch nodes: every type of its catalogue is in exactly
 * one group.
 */
export interface TypesExplanation {
  readonly nodePools: readonly { readonly nodePool: string; readonly typeGroups: readonly TypeGroup[] }[];
}

/** A pod some of whose preferences are ignored. */
export interface IgnoredPreferences {
  readonly pod: string;
  /** How many preferences are honoured (those with the highest weight), and how many are ignored. */
  readonly honoured: number;
  readonly ignored: number;
}

/** A pod that is placed at a later relaxation level than its first (scheduling/relaxation). */
export interface RelaxedPod {
  readonly pod: string;
  /** The level: at 0, the first, every preference is a requirement. */
  readonly level: number;
  /**
   * How many preferences are honoured, and how many of these were relaxed. Zero relaxed if only a `PreferNoSchedule`
   * taint was accepted.
   */
  readonly preferences: number;
  readonly relaxed: number;
}

/** An object that packing cannot read. It is left out, so that the rest is planned. */
export interface ExcludedObject {
  /** `Pod`, `NodePool`, `Node`, or the name of its list in `ClusterObjects`. */
  readonly kind: string;
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly name: string;
  /** The error that it caused. */
  readonly error: string;
}

export interface Plan {
  readonly newNodeClaims: readonly PlannedClaim[];
  readonly existingNodes: readonly { readonly node: string; readonly pods: readonly string[] }[];
  readonly unschedulable: readonly Unschedulable[];
  /**
   * Pods that this pass did not consider (`namespace/name`, sorted), because it reached its limit of work for pods with
   * many terms. Their outcome is unknown; the next pass considers them. Absent: none.
   */
  readonly deferred?: readonly string[];
  /**
   * Pods that ask for a node outside of NodePools (`namespace/name`, sorted): nothing is launched for them. Absent:
   * none.
   */
  readonly ignored?: readonly string[];
  /** Pods with scheduling gates (`namespace/name`, sorted): they are not pending yet. Absent: none. */
  readonly gated?: readonly string[];
  /** Objects other than pods that packing could not read and left out. Absent: none. */
  readonly setAside?: readonly ExcludedObject[];
  /** Where the next pass continues (`PackingInput.resume`); absent if this pass considered every pod. */
  readonly resume?: Resume;
  /** Pods with more preferences than are honoured, by name. Absent: none. */
  readonly ignoredPreferences?: readonly IgnoredPreferences[];
  /** Pods that are placed at a later relaxation level than their first, by name. Absent: none. */
  readonly relaxed?: readonly RelaxedPod[];
  /** One for each set of equal pods in `unschedulable`; only with `explainTypes`. */
  readonly explanations?: readonly TypesExplanation[];
  /** Sum of the cheapest offerings of the new claims, dollars per hour. */
  readonly pricePerHour: number;
  /** Lower bound of the price of any plan for the same pods, dollars per hour. */
  readonly lowerBoundPerHour: number;
  /**
   * Lower bound of the price of comparable plans (the same preferences of the same pods, at most as many new nodes),
   * dollars per hour. Absent if it is not known to exceed `lowerBoundPerHour`.
   */
  readonly comparableLowerBoundPerHour?: number;
  /**
   * What the higher bound does not take into account, as text for people: possible causes of a large gap between price
   * and bound. Absent if the gap is at most 3%.
   */
  readonly boundLeavesOut?: readonly string[];
}
