import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { ask, foreign } from './claims.js';
import { isThere, podOn, providerIdOf, runningNode } from './nodes.js';
import { minute, running, second, startMs, type Running } from './stage.js';

/** What is left of claims whose instances have ended, some minutes later. */
const lost = (expected: unknown, names: readonly string[], options: Parameters<typeof runningNode>[2] = {}): Check =>
  running(expected, async (it) => {
    for (const name of names) runningNode(it, name, options);
    await it.pass(20 * second);
    for (const name of names) it.cloud.kill(providerIdOf(name));
    await it.pass(6 * minute);
    return names.filter((name) => isThere(it, 'NodeClaim', name)).length;
  });

/** pkg/controllers/nodeclaim/garbagecollection/suite_test.go */
export const garbageCases: readonly ConformanceCase[] = about('garbage collection of claims', [
  same(85, 'a claim without instance whose Node is NotReady is deleted', lost(0, ['n1'], { isReady: false })),
  same(112, 'a claim without instance whose Node is Ready stays', lost(1, ['n1'])),
  same(
    136,
    'a hundred claims are deleted',
    lost(
      0,
      Array.from({ length: 100 }, (_, i) => `n${i}`),
      { isReady: false },
    ),
  ),
  same(
    178,
    'an unregistered claim is left to its timeout',
    lost(1, ['n1'], { conditions: ['Launched'], withoutNode: true }),
  ),
  same(
    201,
    'a claim with an instance stays',
    running(true, async (it) => {
      await ask(it, {}, 'c1', 6 * minute);
      return isThere(it, 'NodeClaim', 'c1');
    }),
  ),
]);

const expired = (it: Running): readonly object[] =>
  it.measured
    .filter(({ name }) => name === 'nodeclaims_disrupted_total')
    .map(({ labels }) => ({
      reason: labels['reason'],
      nodepool: labels['nodepool'],
      mode: labels['termination_mode'],
    }));
const once = [{ reason: 'expired', nodepool: 'default', mode: 'graceful' }];

/** A claim that expires a minute after the case begins, and what is found some time later. */
const expires = (
  expected: unknown,
  result: (it: Running) => unknown,
  options: { spec?: object; afterMs?: number; claim?: object; pods?: number } = {},
): Check =>
  running(
    expected,
    async (it) => {
      const created = { creationTimestamp: new Date(startMs - 59 * minute).toISOString().replace('.000', '') };
      runningNode(it, 'n1', { spec: { expireAfter: '1h', ...options.spec }, claim: { ...created, ...options.claim } });
      for (let i = 0; i < (options.pods ?? 0); i++) podOn(it, `p${i}`);
      if (options.pods !== undefined) {
        podOn(it, 'daemon', {
          metadata: {
            ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'ds', controller: true }],
          },
        });
      }
      await it.pass(options.afterMs ?? 10 * minute);
      return result(it);
    },
    { boots: true },
  );

/** pkg/controllers/nodeclaim/expiration/suite_test.go */
export const expirationCases: readonly ConformanceCase[] = about('expiration', [
  same([90, 106], 'counts expired nodes', expires(once, expired)),
  same(
    122,
    'counts the pods of expired nodes',
    expires(
      [2],
      (it) => it.measured.filter(({ name }) => name === 'pods_disruption_initiated_total').map(({ by }) => by),
      {
        pods: 2,
      },
    ),
  ),
  same(
    185,
    'deletes an expired claim',
    expires(false, (it) => isThere(it, 'NodeClaim')),
  ),
  same(
    186,
    'leaves claims of another provider',
    expires(true, (it) => isThere(it, 'NodeClaim'), { spec: foreign }),
  ),
  same(
    189,
    'leaves a claim with expireAfter Never',
    expires(true, (it) => isThere(it, 'NodeClaim'), { spec: { expireAfter: 'Never' } }),
  ),
  same(
    195,
    'leaves a claim before its time',
    expires(true, (it) => isThere(it, 'NodeClaim'), { spec: { expireAfter: '10h' } }),
  ),
  same(
    201,
    'counts from the creation of the claim',
    running(false, async (it) => {
      const created = { creationTimestamp: new Date(startMs - 2 * 60 * minute).toISOString().replace('.000', '') };
      runningNode(it, 'n1', { spec: { expireAfter: '1h' }, claim: created });
      await it.pass(10 * minute);
      return isThere(it, 'NodeClaim');
    }),
  ),
  same(
    212,
    'deletes a claim when its time is over',
    expires(
      [true, false],
      async (it) => {
        const before = isThere(it, 'NodeClaim');
        await it.pass(10 * minute);
        return [before, isThere(it, 'NodeClaim')];
      },
      { afterMs: second },
    ),
  ),
  same(
    221,
    'deletes a claim once',
    expires(once, expired, {
      claim: { finalizers: ['karpenter.sh/termination', 'example.com/held'] },
      afterMs: 30 * minute,
    }),
  ),
]);
