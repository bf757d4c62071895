import type { CapacityBuffer } from '../api/autoscaling/capacity-buffer.js';
import type {
  CSINode,
  DaemonSet,
  Namespace,
  Node,
  NodeSelectorRequirement,
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

/** Of pods that cost more than the cheapest do. */
export type Tier = 'demanding' | 'heavy' | 'apart';

/**
 * By tier, the first pod (`namespace/name`) that the next pass looks at; null where every pod of the tier has had its turn while
 * those of another have not. `turn`: whose pass is the next, where it is not that of most pods.
 * `shared`: unusual pods have their turns though no other namespace has pods any more.
 */
export type Resume = Readonly<Partial<Record<Tier, string | null>>> & {
  readonly turn?: 'apart';
  readonly shared?: true;
};

/** The objects that packing reads, as the API server has them, in any order. Absent kinds count as empty. */
export interface ClusterObjects {
  /** Pods with `spec.nodeName` run; the others pend, except those of DaemonSets. */
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
  /** `Ignore` drops every preference up front (PREFERENCE_POLICY). */
  readonly preferencePolicy: 'Respect' | 'Ignore';
  /** What happens when `minValues` cannot be met (MIN_VALUES_POLICY; min-values/strict-and-best-effort). */
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Label keys that instance types define besides `coreWellKnownLabels` (provider labels). */
  readonly wellKnownLabels: readonly string[];
  /** How many instance types a claim lists at most. */
  readonly listedTypes: number;
  /** What every node to launch counts as more than its price, dollars per hour, beside what DisruptionPolicies say; absent: nothing. */
  readonly nodeCost?: number;
  /** Whether the cheapest plan is wanted, whatever its number of nodes; absent: fewer nodes may cost a little more (provisioning/fewest-nodes). */
  readonly isCheapest?: boolean;
  /** Savings Plans and reserved instances (instance-types/commitments). */
  readonly commitments?: readonly Commitment[];
  /** Whether a plan tells what stops the instance types of each NodePool (`Plan.explanations`). */
  readonly explainTypes?: boolean;
  /** Spread for pods that ask for none (provisioning/default-spread). */
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
  /** Milliseconds of the epoch. */
  readonly now: number;
  /** What if these nodes (by name) were gone? Their reschedulable pods pend. Deleting nodes are treated so anyway. */
  readonly withoutNodes?: ReadonlySet<string>;
  /**
   * Pods (`namespace/name`) that somebody asks about: they are looked at and explained, whatever others there are. With `explainTypes`
   * the instance types are gone through for them alone. Such a plan answers a question: no pass goes on where it ends.
   */
  readonly about?: ReadonlySet<string>;
  /** Where the pass before ended that left pods for this one (`Plan.resume`). */
  readonly resume?: Resume;
}

/** One node to launch. */
export interface PlannedClaim {
  readonly nodePool: string;
  /** `namespace/name`, sorted. Pods that stand for a CapacityBuffer are `namespace/<buffer>-buffer-<n>`. */
  readonly pods: readonly string[];
  /** Those of them that kube-scheduler has to be told of the node (provisioning/nominated-pods); absent: none. */
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
   * Everything that the node must satisfy, sorted by key and operator; of the instance type no more than how many there must be to
   * choose from (`Exists` with `minValues`), where the NodePool says so.
   */
  readonly requirements: readonly (NodeSelectorRequirement & { minValues?: number })[];
  /** Label values that the engine chose itself (keys that no instance type decides). */
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations for the NodeClaim (min-values-relaxed, overlay marks). */
  readonly annotations: Readonly<Record<string, string>>;
  /** Requests of the pods plus the least daemon overhead of the listed types (scheduling/claim-requests). */
  readonly requests: Resources;
  /** Why this type, in a person's words. */
  readonly why: string;
}

/** Why a pod was not placed. */
export interface Unschedulable {
  readonly pod: string;
  /** A sentence for a person. */
  readonly reason: string;
  /** The same as data: the first blocking reason for each NodePool that was considered. */
  readonly blockers: readonly Blocker[];
  /** Where in `Plan.explanations` the instance types are gone through; pods that are alike share one. */
  readonly explanation?: number;
}

/** What stops pods. */
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
  /** When offerings that are excluded for now will be tried again, RFC 3339. */
  readonly until?: string;
  /** The label key that was probably meant instead of `subject`. */
  readonly didYouMean?: string;
}

export interface Blocker extends Cause {
  readonly nodePool?: string;
}

/** Instance types of a NodePool that the same thing stops first. */
export interface TypeGroup extends Cause {
  /** In a person's words: "m5.large", "m5 (12 types)", "c5, m5 and 7 other families (140 types)". */
  readonly group: string;
  /** How many types they are. */
  readonly types: number;
  /** Their names, sorted, twenty at most. */
  readonly instanceTypes: readonly string[];
}

/** What stops the instance types of each NodePool that may launch nodes: every type of its catalogue is in one group. */
export interface TypesExplanation {
  readonly nodePools: readonly { readonly nodePool: string; readonly typeGroups: readonly TypeGroup[] }[];
}

/** A pod of whose preferences some are ignored. */
export interface IgnoredPreferences {
  readonly pod: string;
  /** How many are honoured, the heaviest ones, and how many are not. */
  readonly honoured: number;
  readonly ignored: number;
}

/** A pod that is placed at a later relaxation level than its first (scheduling/relaxation). */
export interface RelaxedPod {
  readonly pod: string;
  /** The level: 0 is the first, at which everything that the pod prefers is a rule. */
  readonly level: number;
  /** How many preferences are honoured, and how many of these were given up. None, if only a `PreferNoSchedule` taint was accepted. */
  readonly preferences: number;
  readonly relaxed: number;
}

/** An object that packing cannot work with: it is left out, so that the rest is planned. */
export interface ExcludedObject {
  /** `Pod`, `NodePool`, `Node`, or the list of `ClusterObjects` that it stands in. */
  readonly kind: string;
  /** With its namespace, where it has one. */
  readonly name: string;
  /** What it led to. */
  readonly error: string;
}

export interface Plan {
  readonly newNodeClaims: readonly PlannedClaim[];
  readonly existingNodes: readonly { readonly node: string; readonly pods: readonly string[] }[];
  readonly unschedulable: readonly Unschedulable[];
  /**
   * Pods that this pass did not look at, `namespace/name`, sorted: what it may do for pods with many terms was done. They are not
   * unschedulable, nothing is known of them; the next pass looks at them. Absent: there are none.
   */
  readonly deferred?: readonly string[];
  /** Pods that ask for a node outside of NodePools, `namespace/name`, sorted: nothing is launched for them. Absent: there are none. */
  readonly ignored?: readonly string[];
  /** Pods with scheduling gates, `namespace/name`, sorted: they are not pending yet. Absent: there are none. */
  readonly gated?: readonly string[];
  /** Objects other than pods that packing could not work with and left out; absent where there are none. */
  readonly setAside?: readonly ExcludedObject[];
  /** Where the next pass goes on (`PackingInput.resume`); absent where every pod has had its turn. */
  readonly resume?: Resume;
  /** Pods with more preferences than are honoured, by name. Absent: there are none. */
  readonly ignoredPreferences?: readonly IgnoredPreferences[];
  /** Pods that are placed at a later relaxation level than their first, by name. Absent: there are none. */
  readonly relaxed?: readonly RelaxedPod[];
  /** One for pods of `unschedulable` that are alike; there with `explainTypes` alone. */
  readonly explanations?: readonly TypesExplanation[];
  /** Sum of the cheapest offerings of the new claims, dollars per hour. */
  readonly pricePerHour: number;
  /** No plan for the same pods can cost less, dollars per hour. */
  readonly lowerBoundPerHour: number;
  /** No plan that keeps the same preferences of the same pods on at most as many new nodes can cost less, dollars per hour. Absent where it is not known to be more than `lowerBoundPerHour`. */
  readonly comparableLowerBoundPerHour?: number;
  /**
   * What the higher of the bounds knows nothing of, in a person's words: where the plan costs much more than the bound, one of these may be why.
   * Absent where it is within 3% of the bound.
   */
  readonly boundLeavesOut?: readonly string[];
}
