import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { DomainError } from '../../core/failures.js';
import type { Kinds, KubeClient, ResourceAttributes } from '../../kube/port.js';
import { permissionsCheck, rightsAt, roles } from './permissions.js';

const where = {
  own: 'autoscaling',
  karpenterLease: { namespace: 'karpenter', name: 'leader' },
  nominates: true,
  hasPage: false,
};
const restarting = {
  metadata: { name: 'restarts' },
  spec: { drainEscalation: [{ after: '10m', action: 'RestartOwner' }] },
};
const own = 'system:serviceaccount:autoscaling:stowage';

type Server = Pick<KubeClient, 'create' | 'list'>;
const all = { restarts: true };

/** An API server that knows who asks, and denies what `denied` picks. */
function server(
  username: string,
  denied: (right: ResourceAttributes) => boolean = () => false,
  policies: readonly object[] = [restarting],
) {
  const asked: ResourceAttributes[] = [];
  const create = (kind: string, object: object) => {
    if (kind === 'SelfSubjectReview') return Promise.resolve({ object: { status: { userInfo: { username } } } });
    const { resourceAttributes } = (object as Kinds['SelfSubjectAccessReview']).spec;
    asked.push(resourceAttributes);
    return Promise.resolve({ object: { status: { allowed: !denied(resourceAttributes) } } });
  };
  return { kube: { create, list: () => Promise.resolve(policies) } as unknown as Server, asked };
}

describe('doctor check permissions', () => {
  test('asks for each right separately', async () => {
    const { kube, asked } = server(own);
    expect(await permissionsCheck(kube, where).run()).toMatchObject({ state: 'ok' });

    expect(asked).toHaveLength(rightsAt(where, all).length);
    expect(asked).toContainEqual({ group: '', resource: 'pods', subresource: 'eviction', verb: 'create' });
    expect(asked).toContainEqual({ group: 'apps', resource: 'statefulsets', verb: 'patch' });
    expect(asked).toContainEqual({ group: 'events.k8s.io', resource: 'events', verb: 'create' });
  });

  test('asks for rights to leases in their namespaces', () => {
    const leases = rightsAt(where, all).filter(({ resource }) => resource === 'leases');
    const lease = { group: 'coordination.k8s.io', resource: 'leases' };

    expect(leases).toContainEqual({ ...lease, verb: 'patch', namespace: 'autoscaling' });
    expect(leases).toContainEqual({ ...lease, verb: 'get', namespace: 'karpenter', name: 'leader' });
  });

  test('lists denied rights by resource, with verbs', async () => {
    const { kube } = server(own, ({ resource, verb, subresource }) => {
      return (resource === 'nodes' && ['patch', 'delete'].includes(verb)) || subresource === 'eviction';
    });
    const { state, found, mend } = await permissionsCheck(kube, where).run();

    expect(state).toBe('failed');
    expect(found).toBe(`${own} may not patch/delete nodes, create pods/eviction`);
    expect(mend).toContain('deploy/rbac.yaml');
  });

  describe('the right to restart rollouts', () => {
    const isOfRestarts = ({ group, verb }: ResourceAttributes): boolean => group === 'apps' && verb === 'patch';

    test.each([
      ['no DisruptionPolicy', []],
      ['one whose only step is Notify', [{ spec: { drainEscalation: [{ after: '10m', action: 'Notify' }] } }]],
    ])('is not required with %s', async (_, policies) => {
      const { kube, asked } = server(own, isOfRestarts, policies);

      expect(await permissionsCheck(kube, where).run()).toMatchObject({ state: 'ok' });
      expect(asked).toEqual(rightsAt(where, { restarts: false }));
      expect(asked.some(isOfRestarts)).toBe(false);
    });

    test('is required where a policy has a RestartOwner step, which is named', async () => {
      const { state, found, mend } = await permissionsCheck(server(own, isOfRestarts).kube, where).run();

      expect([state, found]).toEqual(['failed', `${own} may not patch deployments.apps, patch statefulsets.apps`]);
      expect(mend).toBe(
        'set rolloutRestarts.enabled of the chart, or take the step RestartOwner out of DisruptionPolicy restarts',
      );
    });

    test('is not required where policies may not be read, which is reported instead', async () => {
      const { kube } = server(
        own,
        (right) => right.resource === 'disruptionpolicies' && right.subresource === undefined,
      );
      const list = () => Promise.reject(new DomainError('Denied', 'no'));
      const { found } = await permissionsCheck({ ...kube, list }, where).run();

      expect(found).toBe(`${own} may not get/list/watch/patch disruptionpolicies.stowage.dev`);
    });
  });

  test('names the namespace of a lease', async () => {
    const { kube } = server(own, ({ namespace }) => namespace === 'karpenter');
    expect((await permissionsCheck(kube, where).run()).found).toBe(
      `${own} may not get leases.coordination.k8s.io in karpenter`,
    );
  });

  test("warns when run by a person, whose rights say nothing of Stowage's", async () => {
    const { state, found, mend } = await permissionsCheck(server('ann').kube, where).run();

    expect(state).toBe('warning');
    expect(found).toMatch(/^ann has all \d+ rights/);
    expect(mend).toContain('kubectl exec');
  });

  test('passes an error of the API server on', async () => {
    const away = () => Promise.reject(new Error('away'));
    const kube = { create: away, list: away } as unknown as Server;
    await expect(permissionsCheck(kube, where).run()).rejects.toThrow('away');
  });
});

interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly object[];
}

const namespaces = { own: 'stowage', karpenter: 'kube-system' };

/** Whose rights are people's (authorization/rights). */
const people = /^stowage(-forced)?-orders$/;

test('deploy/rbac.yaml grants no verb that Stowage never sends', () => {
  // It has GET, POST, PATCH and DELETE; `update` on finalizers is required by admission (OwnerReferencesPermissionEnforcement) to set owner references.
  const unused = roles.flatMap(({ rules }) =>
    rules.filter(
      ({ verbs, resources }) => verbs.includes('update') && !resources.every((r) => r.endsWith('/finalizers')),
    ),
  );
  expect(unused).toEqual([]);
});

test('doctor asks for exactly the rights of deploy/rbac.yaml', () => {
  const documents = parseAllDocuments(readFileSync('deploy/rbac.yaml', 'utf8')).map((each) => each.toJS() as Document);
  const given = documents
    .filter(({ metadata, rules }) => rules !== undefined && !people.test(metadata.name))
    .map(({ kind, metadata, rules }) => ({ kind, name: metadata.name, namespace: metadata.namespace, rules }));

  expect(
    roles.map(({ name, in: where, rules }) => ({
      kind: where === undefined ? 'ClusterRole' : 'Role',
      name,
      namespace: where === undefined ? undefined : namespaces[where],
      rules,
    })),
  ).toEqual(given);
});
