/** Labels, annotations, taints and finalizers by name (labels/names). */
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
  /** Before v1beta1, on pods: what `doNotDisrupt` is now. */
  doNotEvict: 'karpenter.sh/do-not-evict',
  /** Before v1beta1, on nodes: neither consolidated nor, under consolidation, removed for being empty. */
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
  /** Of an instance that has the tag of its cluster's name, which early releases of Karpenter did not give. */
  clusterNameTagged: 'compatibility.karpenter.k8s.aws/cluster-name-tagged',
  instanceProfileName: 'karpenter.k8s.aws/instance-profile-name',
  /** How the last claims of a NodePool fared, for NodeRegistrationHealthy. */
  registrations: 'stowage.dev/registrations',
  /** The step of the plan that a claim was created for. */
  plan: 'stowage.dev/plan',
  /** The pods that the last plan put on a claim's node, `namespace/name` by commas, until it is initialized. */
  plannedPods: 'stowage.dev/planned-pods',
  /** Those of them that are nominated to the node when it registers. */
  podsToNominate: 'stowage.dev/pods-to-nominate',
  lastGoodTemplate: 'stowage.dev/last-good-template',
  driftStopped: 'stowage.dev/drift-stopped',
  /** Of a NodePool: recent disruptions, where rates and quotas count it, and what people rejected (budgets/records), as JSON. */
  disruptionRecords: 'stowage.dev/disruption-records',
  /** That the API server refused NodeClaims of a NodePool, and until when it rests (JSON of core/claim-refusals.ts). */
  claimsRefused: 'stowage.dev/claims-refused',
  /** The pods that kube-scheduler left without a node of a NodePool that was there for them (JSON of core/pod-refusals.ts). */
  podsRefused: 'stowage.dev/pods-refused',
  /** The id of the workflow that tainted a NodeClaim's node: it alone takes the taint off, or `disrupt` once it is closed. */
  disruptionOwner: 'stowage.dev/disruption-owner',
  /** The first run of that workflow: one that was started again under the same id knows nothing of the taint. */
  disruptionOwnerRun: 'stowage.dev/disruption-owner-run',
  /** Of a NodeClaim: the notice that its cloud takes the instance (JSON of cluster/interruption-note.ts). */
  interruption: 'stowage.dev/interruption',
  /** Who declined the expiration of a NodeClaim, and why: nothing ends its node for its age while this is there. */
  expirationDeclined: 'stowage.dev/expiration-declined',
  /** For which condition of its node somebody declined the repair of a NodeClaim, who and why: it is not repaired for that while this is there. */
  repairDeclined: 'stowage.dev/repair-declined',
  /** Of a NodeClaim or NodePool: who took its refusal back, and why. */
  reconsidered: 'stowage.dev/reconsidered',
  podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
} as const;

/**
 * What is read of Nodes, which agents write, and of Pods, which tenants write (labels/what-is-believed). It ends, drains and frees nothing: what does
 * is on the NodeClaim. The types of Node and Pod have no other of our annotations; SECURITY.md has these.
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

/** Tags of instances that Stowage reads itself. */
export const instanceTags = {
  /** The UID of the NodeClaim that the instance was launched for: names come back, UIDs do not. */
  nodeClaimUid: 'stowage.dev/nodeclaim-uid',
} as const;

export const finalizers = {
  termination: 'karpenter.sh/termination',
  ec2NodeClass: 'karpenter.k8s.aws/termination',
} as const;

export const taints = {
  disrupted: { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  unregistered: { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  /** Keeps nobody away: kube-scheduler takes other nodes where there are any, while pods of a drained one come anew. */
  steer: { key: 'stowage.dev/steer', effect: 'PreferNoSchedule' },
} as const;

/** In the order in which a launch tries them (launch/capacity-type-order). */
export const capacityTypes = Object.freeze(['reserved', 'spot', 'on-demand'] as const);
export type CapacityType = (typeof capacityTypes)[number];

/** Older label keys that mean a current one. */
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
