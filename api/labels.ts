/** Names of labels, annotations, taints and finalizers (labels/names). */
export const labels = {
  nodePool: 'karpenter.sh/nodepool',
  capacityType: 'karpenter.sh/capacity-type',
  registered: 'karpenter.sh/registered',
  initialized: 'karpenter.sh/initialized',
  doNotSyncTaints: 'karpenter.sh/do-not-sync-taints',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  zoneId: 'topology.k8s.aws/zone-id',
  hostname: 'kubernetes.io/hostname',
  instanceType: 'node.kubernetes.io/instance-type',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  windowsBuild: 'node.kubernetes.io/windows-build',
  excludeFromLoadBalancers: 'node.kubernetes.io/exclude-from-external-load-balancers',
  ec2NodeClass: 'karpenter.k8s.aws/ec2nodeclass',
} as const;

export const annotations = {
  doNotDisrupt: 'karpenter.sh/do-not-disrupt',
  /** Predecessor of `doNotDisrupt` on pods, before v1beta1. */
  doNotEvict: 'karpenter.sh/do-not-evict',
  /** Before v1beta1, on nodes: protects from consolidation, including removal of empty nodes. */
  doNotConsolidate: 'karpenter.sh/do-not-consolidate',
  nodePoolHash: 'karpenter.sh/nodepool-hash',
  nodePoolHashVersion: 'karpenter.sh/nodepool-hash-version',
  terminationTimestamp: 'karpenter.sh/nodeclaim-termination-timestamp',
  minValuesRelaxed: 'karpenter.sh/nodeclaim-min-values-relaxed',
  priceOverlayApplied: 'karpenter.sh/price-overlay-applied',
  capacityOverlayApplied: 'karpenter.sh/capacity-overlay-applied',
  ec2NodeClassHash: 'karpenter.k8s.aws/ec2nodeclass-hash',
  ec2NodeClassHashVersion: 'karpenter.k8s.aws/ec2nodeclass-hash-version',
  tagged: 'karpenter.k8s.aws/tagged',
  /**
   * On a NodeClaim whose instance has the tag with its cluster's name, which early releases of Karpenter did not set.
   */
  clusterNameTagged: 'compatibility.karpenter.k8s.aws/cluster-name-tagged',
  instanceProfileName: 'karpenter.k8s.aws/instance-profile-name',
  /** Outcomes of the last claims of a NodePool, for NodeRegistrationHealthy. */
  registrations: 'stowage.dev/registrations',
  /** The step of the plan for which a claim was created. */
  plan: 'stowage.dev/plan',
  /**
   * The pods that the last plan placed on a claim's node, `namespace/name` separated by commas, until it is
   * initialized.
   */
  plannedPods: 'stowage.dev/planned-pods',
  /** Those of them that are nominated to the node when it registers. */
  podsToNominate: 'stowage.dev/pods-to-nominate',
  lastGoodTemplate: 'stowage.dev/last-good-template',
  driftStopped: 'stowage.dev/drift-stopped',
  /** On a NodePool: the disruptions of its nodes, and what users rejected (JSON of cluster/pool-records.ts). */
  disruptionRecords: 'stowage.dev/disruption-records',
  /** On a NodePool: what was planned and then refused, by whom, and the end of the back-off (JSON of core/refusals.ts). */
  refusals: 'stowage.dev/refusals',
  /** On the operator's Lease: the leader's loops that fail (JSON of operator/stuck/leader-loops.ts). */
  failingLoops: 'stowage.dev/failing-loops',
  /**
   * Id of the workflow that tainted a NodeClaim's node: only this workflow removes the taint, or `disrupt` once it is
   * closed.
   */
  disruptionOwner: 'stowage.dev/disruption-owner',
  /** The first run of that workflow: a new execution with the same id did not add the taint. */
  disruptionOwnerRun: 'stowage.dev/disruption-owner-run',
  /** On a NodeClaim that is drained: the nodes and NodeClaims that its pods should go to, separated by commas. */
  steersTo: 'stowage.dev/steers-to',
  /** On a NodeClaim: what its disruption waits for (JSON of cluster/disruption-wait.ts). */
  disruptionWait: 'stowage.dev/disruption-wait',
  /**
   * On a NodeClaim: the notice of the cloud that the instance will be reclaimed (JSON of cluster/interruption-note.ts).
   */
  interruption: 'stowage.dev/interruption',
  /** Who declined the expiration of a NodeClaim, and why: while it is set, the node does not expire. */
  expirationDeclined: 'stowage.dev/expiration-declined',
  /**
   * Who declined the repair of a NodeClaim, for which node condition, and why: while it is set, the node is not
   * repaired for that condition.
   */
  repairDeclined: 'stowage.dev/repair-declined',
  /** On a NodeClaim or NodePool: who withdrew such a refusal, and why. */
  reconsidered: 'stowage.dev/reconsidered',
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
} as const;

/**
 * Annotations that are read from Nodes, which agents write, and from Pods, which tenants write
 * (labels/what-is-believed). They cannot terminate, drain or release anything: annotations that can are on the
 * NodeClaim. The types of Node and Pod exclude Stowage's other annotations; SECURITY.md lists these.
 */
export const readOfOthers = {
  Node: {
    annotations: ['doNotDisrupt', 'doNotConsolidate'],
    labels: ['registered', 'initialized', 'doNotSyncTaints'],
    taints: ['disrupted', 'unregistered'],
  },
  Pod: { annotations: ['doNotDisrupt', 'doNotEvict', 'podDeletionCost'] },
} as const;

type Keys<Names extends keyof typeof annotations> = (typeof annotations)[Names];
type Unread<Read extends readonly string[]> = Keys<Exclude<keyof typeof annotations, Read[number]>>;
export type UnreadOnNode = Unread<(typeof readOfOthers)['Node']['annotations']>;
export type UnreadOnPod = Unread<(typeof readOfOthers)['Pod']['annotations']>;

/** Instance tags that Stowage reads. */
export const instanceTags = {
  /** The UID of the NodeClaim for which the instance was launched: names may be reused, UIDs are not. */
  nodeClaimUid: 'stowage.dev/nodeclaim-uid',
} as const;

export const finalizers = {
  termination: 'karpenter.sh/termination',
  ec2NodeClass: 'karpenter.k8s.aws/termination',
} as const;

export const taints = {
  disrupted: { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  unregistered: { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  /**
   * A preference: kube-scheduler avoids these nodes if others have room, while pods of a drained node are created
   * again.
   */
  steer: { key: 'stowage.dev/steer', effect: 'PreferNoSchedule' },
} as const;

/** In the order in which launches try them (launch/capacity-type-order). */
export const capacityTypes = Object.freeze(['reserved', 'spot', 'on-demand'] as const);
export type CapacityType = (typeof capacityTypes)[number];

/** Aliases: older label keys and their current names. */
export const labelAliases: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': labels.zone,
  'failure-domain.beta.kubernetes.io/region': labels.region,
  'beta.kubernetes.io/arch': labels.arch,
  'beta.kubernetes.io/os': labels.os,
  'beta.kubernetes.io/instance-type': labels.instanceType,
  'topology.ebs.csi.aws.com/zone': labels.zone,
};

/** Labels that every provider's instance types may define; providers add their own. */
export const coreWellKnownLabels: readonly string[] = [
  labels.nodePool,
  labels.capacityType,
  labels.zone,
  labels.region,
  labels.instanceType,
  labels.arch,
  labels.os,
  labels.windowsBuild,
];
