import { isDomainError } from '../../core/failures.js';
import { inBatches } from '../../core/at-once.js';
import { counted } from '../../core/text.js';
import type { KubeClient, ResourceAttributes } from '../../kube/port.js';
import { type Check, type CheckOutcome, failed, okCheck, someOf, warning } from './check.js';
import { nameOf } from '../../core/names.js';
import type { NamespacedName } from '../../core/refs.js';

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
  readonly onlyFor?: 'rollout-restarts' | 'nominations' | 'page';
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
const usualKarpenterLease = 'karpenter-leader-election';

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
      rule('stowage.dev', ['disruptionpolicies/status', 'disruptionpauses/status'], change),
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
    name: 'stowage-page',
    onlyFor: 'page',
    rules: [
      rule('authentication.k8s.io', ['tokenreviews'], ['create']),
      rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
    ],
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

interface RightsWhere {
  /** Namespace of the operator's lease. */
  readonly own: string;
  readonly karpenterLease: NamespacedName;
  /** Whether NOMINATE_PODS is set. */
  readonly nominates: boolean;
  /** Whether the page is served (PAGE_PORT). */
  readonly hasPage: boolean;
}

const atOnce = 16;

/** Whether the caller has the permissions in deploy/rbac.yaml that this cluster needs. */
export function permissionsCheck(kube: Pick<KubeClient, 'create' | 'list'>, where: RightsWhere): Check {
  return {
    name: 'permissions',
    needs: ['kubernetes'],
    unanswered: 'see the log of the API server: it answers no SelfSubjectAccessReview',
    run: async () => {
      const { object } = await kube.create('SelfSubjectReview', { metadata: {} });
      const restarting = await restartingPolicies(kube);
      const rights = rightsAt(where, { restarts: restarting.length > 0 });
      const denied: ResourceAttributes[] = [];
      await inBatches(
        rights,
        async (resourceAttributes) => {
          const review = { metadata: {}, spec: { resourceAttributes } };
          const answer = await kube.create('SelfSubjectAccessReview', review);
          if (answer.object.status?.allowed !== true) denied.push(resourceAttributes);
        },
        { atOnce },
      );
      const user = object.status?.userInfo?.username ?? 'unknown';
      return permissionsOutcome(user, { asked: rights.length, denied, restarting });
    },
  };
}

/**
 * Names of the DisruptionPolicies that restart rollouts, which needs an additional permission; none if they cannot be
 * read.
 */
async function restartingPolicies(kube: Pick<KubeClient, 'list'>): Promise<readonly string[]> {
  try {
    const policies = await kube.list('DisruptionPolicy');
    const restarts = policies.filter(({ spec }) =>
      spec.drainEscalation?.some(({ action }) => action === 'RestartOwner'),
    );
    return restarts.map(nameOf);
  } catch (error) {
    if (isDomainError(error, 'Denied') || isDomainError(error, 'NotFound')) return [];
    throw error;
  }
}

/** Every verb on every resource of the rules, separately. */
export function rightsAt(
  { own, karpenterLease, nominates, hasPage }: RightsWhere,
  { restarts }: { readonly restarts: boolean },
): readonly ResourceAttributes[] {
  const namespaces = { own, karpenter: karpenterLease.namespace };
  const isNeeded = { 'rollout-restarts': restarts, nominations: nominates, page: hasPage };
  const needed = roles.filter(({ onlyFor }) => onlyFor === undefined || isNeeded[onlyFor]);
  return needed.flatMap(({ in: where, rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((path) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => {
              const [resource = '', subresource] = path.split('/');
              return {
                ...{ group, resource, verb },
                ...(subresource === undefined ? {} : { subresource }),
                ...(where === undefined ? {} : { namespace: namespaces[where] }),
                ...(name === undefined ? {} : { name: name === usualKarpenterLease ? karpenterLease.name : name }),
              };
            }),
          ),
        ),
      ),
    ),
  );
}

const serviceAccount = 'system:serviceaccount:';

interface Answers {
  /** Number of permissions checked. */
  readonly asked: number;
  readonly denied: readonly ResourceAttributes[];
  readonly restarting: readonly string[];
}

function permissionsOutcome(user: string, { asked, denied, restarting }: Answers): CheckOutcome {
  if (denied.length > 0) {
    const isOfRestarts = denied.every(({ group, verb }) => group === 'apps' && verb === 'patch');
    return failed(
      `${user} may not ${someOf(textsOf(denied))}`,
      isOfRestarts
        ? `set rolloutRestarts.enabled of the chart, or take the step RestartOwner out of DisruptionPolicy ${someOf(restarting)}`
        : 'apply deploy/rbac.yaml (helm upgrade does it), or bind its roles to this ServiceAccount',
    );
  }
  if (user.startsWith(serviceAccount)) return okCheck(`${user} has all ${counted(asked, 'right')} of deploy/rbac.yaml`);
  return warning(
    `${user} has all ${counted(asked, 'right')} of deploy/rbac.yaml, which says nothing of Stowage's ServiceAccount`,
    'ask as Stowage: kubectl exec deploy/stowage-operator -- stowage doctor',
  );
}

/** One text for each resource: `update, patch nodes`. */
function textsOf(denied: readonly ResourceAttributes[]): string[] {
  const verbs = new Map<string, string[]>();
  for (const { group, resource, subresource, namespace, verb } of denied) {
    const kind = `${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
    const what = `${kind}${namespace === undefined ? '' : ` in ${namespace}`}`;
    verbs.set(what, [...(verbs.get(what) ?? []), verb]);
  }
  return [...verbs].map(([what, of]) => `${of.join('/')} ${what}`);
}
