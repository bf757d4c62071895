/** One rule of a Role or ClusterRole, as in Kubernetes. */
interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Role {
  readonly name: string;
  /** Absent for a ClusterRole; `own`: namespace of the operator's lease, `karpenter`: that of Karpenter's lease. */
  readonly in?: 'own' | 'karpenter';
  /** Absent for a role that is always needed. */
  readonly onlyFor?: 'rollout-restarts' | 'nominations';
  readonly rules: readonly Rule[];
}

const read = ['get', 'list', 'watch'];
const readAndChange = [...read, 'patch'];
const write = [...read, 'create', 'patch', 'delete'];
const change = ['patch'];

const rule = (group: string | readonly string[], resources: readonly string[], verbs: readonly string[]): Rule => ({
  apiGroups: typeof group === 'string' ? [group] : group,
  resources,
  verbs,
});

/** The default name of Karpenter's lease, as in deploy/rbac.yaml. */
export const usualKarpenterLease = 'karpenter-leader-election';

/** Stowage's permissions in a cluster: the rules of deploy/rbac.yaml, which a test compares. */
export const roles: readonly Role[] = [
  {
    name: 'stowage',
    rules: [
      rule('karpenter.sh', ['nodeclaims'], write),
      rule('karpenter.sh', ['nodepools', 'nodeoverlays'], readAndChange),
      rule('karpenter.sh', ['nodeclaims/status', 'nodepools/status', 'nodeoverlays/status'], change),
      rule('karpenter.sh', ['nodeclaims/finalizers', 'nodepools/finalizers'], ['update']),
      rule('karpenter.k8s.aws', ['ec2nodeclasses'], readAndChange),
      rule('karpenter.k8s.aws', ['ec2nodeclasses/status'], change),
      rule('stowage.dev', ['disruptionpolicies'], readAndChange),
      rule('stowage.dev', ['disruptionpauses'], write),
      rule('stowage.dev', ['disruptionpolicies/status'], change),
      rule('autoscaling.x-k8s.io', ['capacitybuffers'], read),
      rule('autoscaling.x-k8s.io', ['capacitybuffers/status'], change),
      rule('', ['nodes'], [...readAndChange, 'delete']),
      rule('', ['pods'], [...read, 'delete']),
      rule('', ['pods/eviction'], ['create']),
      rule(
        '',
        [
          'namespaces',
          'persistentvolumeclaims',
          'persistentvolumes',
          'podtemplates',
          'replicationcontrollers',
          'services',
        ],
        read,
      ),
      rule('apps', ['daemonsets', 'deployments', 'replicasets', 'statefulsets'], read),
      rule('policy', ['poddisruptionbudgets'], read),
      rule('storage.k8s.io', ['csinodes', 'storageclasses', 'volumeattachments'], read),
      rule('resource.k8s.io', ['deviceclasses', 'resourceclaims', 'resourceslices'], read),
      rule('scheduling.k8s.io', ['priorityclasses'], read),
      rule('apiextensions.k8s.io', ['customresourcedefinitions'], read),
      rule(['', 'events.k8s.io'], ['events'], ['create', 'patch']),
      rule('', ['events'], read),
    ],
  },
  {
    name: 'stowage-nominations',
    onlyFor: 'nominations',
    rules: [rule('', ['pods/status'], ['patch'])],
  },
  {
    name: 'stowage-rollout-restarts',
    onlyFor: 'rollout-restarts',
    rules: [rule('apps', ['deployments', 'statefulsets'], ['patch'])],
  },
  {
    name: 'stowage',
    in: 'own',
    rules: [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch', 'delete'])],
  },
  {
    name: 'stowage-karpenter-lease',
    in: 'karpenter',
    rules: [{ ...rule('coordination.k8s.io', ['leases'], ['get']), resourceNames: [usualKarpenterLease] }],
  },
];
