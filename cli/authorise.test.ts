import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { DomainError } from '../core/failures.js';
import type { Kind, KubeClient, SelfSubjectAccessReview } from '../kube/port.js';
import { actorOf, authorise, rights } from './authorise.js';
import type { Right } from './authorise.js';
import { orderCommand } from './order.js';
import { pauseCommand, resumeCommand } from './pause.js';
import { reconsiderCommand } from './reconsider.js';
import { UsageError } from './exit.js';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const rolesOf = (name: string): readonly Rule[] =>
  parseAllDocuments(readFileSync('deploy/rbac.yaml', 'utf8'))
    .map((each) => each.toJS() as { kind: string; metadata: { name: string }; rules?: Rule[] })
    .flatMap(({ kind, metadata, rules }) => (kind === 'ClusterRole' && metadata.name === name ? (rules ?? []) : []));

/** An API server that authorises by `rules`, as RBAC does. */
function apiServer(rules: readonly Rule[], username = 'ann'): Pick<KubeClient, 'create' | 'get'> & { close(): void } {
  const allows = ({ group, resource, subresource, verb }: SelfSubjectAccessReview['spec']['resourceAttributes']) =>
    rules.some(
      (rule) =>
        rule.apiGroups.includes(group) &&
        rule.verbs.includes(verb) &&
        rule.resources.includes(subresource === undefined ? resource : `${resource}/${subresource}`),
    );
  const create = (kind: Kind, object: unknown): Promise<unknown> => {
    if (kind === 'SelfSubjectReview') return Promise.resolve({ object: { status: { userInfo: { username } } } });
    const allowed = allows((object as SelfSubjectAccessReview).spec.resourceAttributes);
    return Promise.resolve({ object: { status: { allowed } } });
  };
  return { create: create as KubeClient['create'], get: kubeSystem('own'), close: () => undefined };
}

const kubeSystem = (uid: string): KubeClient['get'] =>
  (() => Promise.resolve({ metadata: { uid } })) as unknown as KubeClient['get'];
const registered = (uid: string | undefined) => ({ cluster: 'c', register: { read: () => Promise.resolve(uid) } });
const target = { settings: {}, ...registered('own') };

const unavailable = (): ReturnType<typeof apiServer> => ({
  create: () => Promise.reject(new DomainError('Unavailable', 'down')),
  get: () => Promise.reject(new DomainError('Unavailable', 'down')),
  close: () => undefined,
});

describe('an order of a person', () => {
  test("is recorded under the caller's Kubernetes user, also with --as (authorization/actor)", async () => {
    const kube = apiServer(rolesOf('stowage-orders'));

    expect(await actorOf(kube, rights.order)).toBe('ann');
    expect(await actorOf(kube, rights.order, 'bob')).toBe('ann for bob');
  });

  test.each<[string, readonly (keyof typeof rights)[]]>([
    ['stowage-orders', ['pause', 'resume', 'order', 'rollback']],
    ['stowage-forced-orders', ['force']],
    ['no-such-role', []],
  ])('with the ClusterRole %s allows %j and nothing else (authorization/rights)', async (role, may) => {
    const kube = apiServer(rolesOf(role));
    const allowed = await Promise.all(
      Object.entries(rights).map(async ([name, right]: [string, Right]) => {
        const given = await actorOf(kube, right).then(
          () => [name],
          (error: unknown) => {
            expect(error).toBeInstanceOf(UsageError);
            return [];
          },
        );
        return given;
      }),
    );

    expect(allowed.flat()).toEqual(may);
  });

  test.each(['', '  '])('with an empty --as (%j) is refused before the API server is asked', async (as) => {
    const refused = '--as is empty: give the name of the person for whom you act, or omit it';
    await expect(authorise(target, rights.order, as, unavailable)).rejects.toThrow(new UsageError(refused));
    await expect(actorOf(unavailable(), rights.order, as)).rejects.toThrow(new UsageError(refused));
  });

  test('without the right is refused, naming the missing right (authorization/orders)', async () => {
    await expect(authorise(target, rights.force, undefined, () => apiServer([]))).rejects.toThrow(
      'ann may not create approvals/force of group stowage.dev: nothing was ordered',
    );
  });

  test.each([
    ['does not answer', unavailable],
    [
      'is named nowhere',
      () => {
        throw new Error('no kubeconfig');
      },
    ],
  ])(
    'where the API server %s is marked as not authenticated (authorization/without-kubernetes)',
    async (_, connect) => {
      expect(await authorise(target, rights.pause, 'ann', connect)).toBe('ann (not authenticated)');
      expect(await authorise(target, rights.pause, undefined, connect)).toMatch(/^.+@.+ \(not authenticated\)$/);
    },
  );

  test.each([
    ['own', 'ann'],
    [undefined, 'ann (not authenticated)'],
  ])(
    "where Temporal has the UID %s for the cluster's name is recorded as from %s (authorization/whose-api-server)",
    async (uid, actor) => {
      const given = { settings: {}, ...registered(uid) };
      expect(await authorise(given, rights.order, undefined, () => apiServer(rolesOf('stowage-orders')))).toBe(actor);
    },
  );

  test('is refused where the API server is of another cluster (authorization/whose-api-server)', async () => {
    const other = { ...apiServer(rolesOf('stowage-orders')), get: kubeSystem('other') };
    await expect(authorise(target, rights.order, undefined, () => other)).rejects.toThrow(
      /^CLUSTER_NAME c belongs to another cluster .* UID own, that of this cluster other$/,
    );
  });

  test('is refused where the API server refuses to name the caller', async () => {
    const refusing = { ...unavailable(), create: () => Promise.reject(new DomainError('Denied', 'no')) };
    await expect(authorise(target, rights.pause, undefined, () => refusing)).rejects.toThrow('no');
  });
});

test('orders with an empty --as are refused when the command line is parsed', () => {
  const commands = [orderCommand('approve'), pauseCommand(), resumeCommand(), reconsiderCommand()];
  for (const command of commands) {
    const given = ['--as', ' ', '--because', 'x', '--node', 'n'];
    expect(() => command.allowUnknownOption().parse(given, { from: 'user' })).toThrow(
      new UsageError('--as is empty: give the name of the person for whom you act, or omit it'),
    );
  }
});
