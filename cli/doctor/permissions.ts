import { isDomainError } from '../../core/failures.js';
import { inBatches } from '../../core/at-once.js';
import { counted } from '../../core/text.js';
import type { KubeClient, ResourceAttributes } from '../../kube/port.js';
import { failed, okCheck, someOf, warning, type Check, type CheckOutcome } from './check.js';
import { roles, usualKarpenterLease } from './rights.js';

export interface RightsWhere {
  /** Namespace of the operator's lease. */
  readonly own: string;
  readonly karpenterLease: { readonly namespace: string; readonly name: string };
  /** Whether NOMINATE_PODS is set. */
  readonly nominates: boolean;
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
    return restarts.map(({ metadata }) => metadata.name ?? '');
  } catch (error) {
    if (isDomainError(error, 'Denied') || isDomainError(error, 'NotFound')) return [];
    throw error;
  }
}

/** Every verb on every resource of the rules, separately. */
export function rightsAt(
  { own, karpenterLease, nominates }: RightsWhere,
  { restarts }: { readonly restarts: boolean },
): readonly ResourceAttributes[] {
  const namespaces = { own, karpenter: karpenterLease.namespace };
  const isNeeded = { 'rollout-restarts': restarts, nominations: nominates };
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
