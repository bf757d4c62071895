import { DomainError } from '../../../core/failures.js';
import { nodePool } from '../../builders/activity-world.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { ask, claimOf, foreign, healthOf, join, owned, providerOf } from './claims.js';
import { isThere, said } from './nodes.js';
import { minute, running, second, type Running } from './stage.js';

/** The cloud refuses, with what it says. */
const refusing = (it: Running): void =>
  it.cloud.failNext('launch', new DomainError('LaunchFailed', 'instance creation failed'), 1000);

const launches = (expected: unknown, spec: object = {}): Check =>
  running(expected, async (it) => {
    await ask(it, { spec });
    return {
      instances: it.cloud.peek().length,
      known: it.cloud.peek().some((one) => one.providerId === providerOf(it)),
    };
  });

/** pkg/controllers/nodeclaim/lifecycle/launch_test.go */
export const launchCases: readonly ConformanceCase[] = about('launch', [
  same(72, 'gives a new claim an instance', launches({ instances: 1, known: true })),
  same(73, 'leaves a claim of another provider', launches({ instances: 0, known: false }, foreign)),
  same(
    75,
    'sets Launched',
    running('True/Launched', async (it) => {
      await ask(it);
      return said(it, 'Launched', 'c1');
    }),
  ),
  same(
    89,
    'without capacity deletes the claim',
    running(false, async (it) => {
      it.cloud.exhaust();
      await ask(it);
      return isThere(it, 'NodeClaim', 'c1');
    }),
  ),
  same(
    97,
    'from a node class that is not Ready deletes the claim',
    running(false, async (it) => {
      it.cloud.setNotReady('default', 'no subnets');
      await ask(it);
      return isThere(it, 'NodeClaim', 'c1');
    }),
  ),
  same(
    105,
    'with another error sets its message and keeps the claim',
    running({ status: 'Unknown', message: true }, async (it) => {
      refusing(it);
      await ask(it);
      const launched = claimOf(it)?.status?.conditions?.find(({ type }) => type === 'Launched');
      return { status: launched?.status, message: launched?.message?.includes('instance creation failed') };
    }),
  ),
]);

const after = (
  expected: unknown,
  afterMs: number,
  options: { spec?: object; fails?: boolean; at?: number } = {},
): Check =>
  running(expected, async (it) => {
    if (options.fails === true) refusing(it);
    const created = { creationTimestamp: new Date(it.now() - (options.at ?? 0)).toISOString().replace('.000', '') };
    await ask(it, { spec: options.spec ?? {}, metadata: { ...owned, ...created } }, 'c1', afterMs);
    return { claim: isThere(it, 'NodeClaim', 'c1'), health: healthOf(it) };
  });

const twoFail = (before?: 'True'): Check =>
  running({ claims: [false, false], health: 'False' }, async (it) => {
    if (before !== undefined) {
      const conditions = [
        {
          type: 'NodeRegistrationHealthy',
          status: before,
          reason: 'Healthy',
          message: '',
          lastTransitionTime: '2026-01-05T11:00:00Z',
        },
      ];
      await it.kube.patch('NodePool', { name: 'default' }, { status: { conditions } }, { subresource: 'status' });
    }
    refusing(it);
    await ask(it, { metadata: owned }, 'c1', 0);
    await ask(it, { metadata: owned }, 'c2', 7 * minute);
    return { claims: ['c1', 'c2'].map((name) => isThere(it, 'NodeClaim', name)), health: healthOf(it) };
  });

/** The pool is deleted, and made again under its name. */
export const renewed = (it: Running): void => {
  it.kube.remove('NodePool', { name: 'default' });
  const made = nodePool('default', { disruption: { consolidateAfter: 'Never' } });
  it.kube.put('NodePool', { ...made, metadata: { ...made.metadata, uid: 'another' } });
};

/** pkg/controllers/nodeclaim/lifecycle/liveness_test.go */
export const livenessCases: readonly ConformanceCase[] = about('registration timeout', [
  same(
    97,
    'without a Node for fifteen minutes deletes the claim',
    after({ claim: false, health: 'Unknown' }, 20 * minute),
  ),
  same(
    98,
    'leaves a claim of another provider',
    after({ claim: true, health: 'Unknown' }, 20 * minute, { spec: foreign }),
  ),
  same(
    100,
    'leaves a claim whose Node registered',
    running([true, true], async (it) => {
      await ask(it);
      await join(it, { afterMs: 20 * minute });
      return [isThere(it, 'NodeClaim', 'c1'), isThere(it, 'Node')];
    }),
  ),
  same(
    130,
    'without an instance for five minutes deletes the claim',
    after({ claim: false, health: 'Unknown' }, 6 * minute + 30 * second, { fails: true }),
  ),
  same(
    159,
    'failed once does not make the pool unhealthy',
    after({ claim: true, health: 'Unknown' }, minute, { fails: true }),
  ),
  notApplicable(188, "a timeout of one's own", "a variable for programs that are built with Karpenter's packages"),
  same(
    224,
    'five minutes count from the launch, not from the creation',
    after({ claim: true, health: 'Unknown' }, 2 * minute, { fails: true, at: 12 * minute }),
  ),
  same(
    264,
    'fifteen minutes count from the launch, not from the creation',
    after({ claim: true, health: 'Unknown' }, 2 * minute, { at: 16 * minute }),
  ),
  same(304, 'failed twice makes a healthy pool unhealthy', twoFail('True')),
  same(354, 'failed twice makes an unknown pool unhealthy', twoFail()),
  same(
    403,
    'of a recreated pool does not count for the new one',
    running({ claim: false, health: 'Unknown' }, async (it) => {
      refusing(it);
      await ask(it, { metadata: owned }, 'c1', minute);
      renewed(it);
      await it.pass(20 * minute);
      return { claim: isThere(it, 'NodeClaim', 'c1'), health: healthOf(it) };
    }),
  ),
]);
