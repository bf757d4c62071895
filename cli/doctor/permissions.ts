import { inBatches } from '../../core/in-batches.js';
import { counted } from '../../core/plurals.js';
import type { KubeClient, ResourceAttributes } from '../../kube/port.js';
import { failed, okCheck, someOf, warning } from './check.js';
import type { Check, Verdict } from './check.js';
import { roles, usualKarpenterLease } from './rights.js';

export interface RightsWhere {
  /** Namespace of the operator's lease. */
  readonly own: string;
  readonly karpenterLease: { readonly namespace: string; readonly name: string };
}

const atOnce = 16;

/** Whether whoever asks may do what deploy/rbac.yaml gives to Stowage. */
export function permissionsCheck(kube: Pick<KubeClient, 'create'>, where: RightsWhere): Check {
  return {
    name: 'permissions',
    needs: ['kubernetes'],
    unanswered: 'see the log of the API server: it answers no SelfSubjectAccessReview',
    run: async () => {
      const { object } = await kube.create('SelfSubjectReview', { metadata: {} });
      const rights = rightsAt(where);
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
      return permissionsVerdict(object.status?.userInfo?.username ?? 'unknown', rights.length, denied);
    },
  };
}

/** Every verb on every resource of the rules, each by itself. */
export function rightsAt({ own, karpenterLease }: RightsWhere): readonly ResourceAttributes[] {
  const namespaces = { own, karpenter: karpenterLease.namespace };
  return roles.flatMap(({ in: where, rules }) =>
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

function permissionsVerdict(user: string, asked: number, denied: readonly ResourceAttributes[]): Verdict {
  if (denied.length > 0) {
    return failed(
      `${user} may not ${someOf(textsOf(denied))}`,
      'apply deploy/rbac.yaml (helm upgrade does it), or bind its roles to this ServiceAccount',
    );
  }
  if (user.startsWith(serviceAccount)) return okCheck(`${user} has all ${counted(asked, 'right')} of deploy/rbac.yaml`);
  return warning(
    `${user} has all ${counted(asked, 'right')} of deploy/rbac.yaml, which says nothing of Stowage's ServiceAccount`,
    'ask as Stowage: kubectl exec deploy/stowage-operator -- stowage doctor',
  );
}

/** One text a resource: `update, patch nodes`. */
function textsOf(denied: readonly ResourceAttributes[]): string[] {
  const verbs = new Map<string, string[]>();
  for (const { group, resource, subresource, namespace, verb } of denied) {
    const kind = `${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
    const what = `${kind}${namespace === undefined ? '' : ` in ${namespace}`}`;
    verbs.set(what, [...(verbs.get(what) ?? []), verb]);
  }
  return [...verbs].map(([what, of]) => `${of.join('/')} ${what}`);
}
