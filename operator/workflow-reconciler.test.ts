import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { silentLog, silentMetrics } from '../test/simulation/silent.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, ObjectMeta } from '../api/kubernetes.js';
import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations, finalizers, labels } from '../api/labels.js';
import { nodeClaim, nodePool } from '../test/builders/activity-world.js';
import { claimAt, cluster, clusterOf, created, situations } from '../test/builders/observed-clusters.js';
import type { Situation, Stage } from '../test/builders/observed-clusters.js';
import { desiredWorkflows, entityStart } from './desired-workflows.js';
import type { ObservedCluster, WorkflowStart } from './observed-cluster.js';
import { Starter } from './starter.js';
import { WorkflowReconciler } from './workflow-reconciler.js';
import type { WorkflowEngine } from './workflow-reconciler.js';

/** Of a Node that is registered. */
const registered = { [labels.registered]: 'true' };

const typesFor = (claims: readonly NodeClaim[], pools: readonly NodePool[] = []): readonly string[] =>
  desiredWorkflows(cluster({ claims, pools }))
    .starts.slice(2)
    .map(({ workflowId }) => workflowId);

/** Temporal as a set of ids: a started workflow runs until it is removed or completes. Lists show what was open `lag` lists ago. */
class FakeEngine implements WorkflowEngine {
  readonly open = new Set<string>();
  readonly completed = new Set<string>();
  readonly starts: string[] = [];
  readonly objectless: string[] = [];
  disruptSignals = 0;
  refuses: (id: string) => boolean = () => false;
  lag = 0;
  private readonly lists: ReadonlySet<string>[] = [];

  running(): Promise<ReadonlySet<string>> {
    this.lists.push(new Set(this.open));
    return Promise.resolve(this.lists.at(-1 - this.lag) ?? new Set());
  }
  start({ workflowId, afterCompletion }: WorkflowStart): Promise<'started' | 'known'> {
    if (this.refuses(workflowId)) return refusal(workflowId);
    const isDone = afterCompletion === 'keepCompleted' && this.completed.has(workflowId);
    if (this.open.has(workflowId) || isDone) return Promise.resolve('known');
    this.open.add(workflowId);
    this.starts.push(workflowId);
    return Promise.resolve('started');
  }
  endObjectless(workflowId: string): Promise<void> {
    if (this.refuses(workflowId)) return refusal(workflowId);
    this.objectless.push(workflowId);
    return Promise.resolve();
  }
  disrupt(): Promise<void> {
    this.disruptSignals += 1;
    return Promise.resolve();
  }
}

const refusal = (id: string): Promise<never> => Promise.reject(new Error(`${id}: RESOURCE_EXHAUSTED`));

describe('workflows that should run', () => {
  test('are the entity workflows in any cluster', () => {
    const { starts } = desiredWorkflows(cluster());

    expect(starts).toEqual([entityStart('test', 'provision'), entityStart('test', 'disrupt')]);
    expect(starts.map(({ workflowId }) => workflowId)).toEqual(['test/provision', 'test/disrupt']);
  });

  test.each<[Stage, readonly string[]]>([
    ['new', []],
    ['launching', ['test/launch/uid-c']],
    ['initialized', ['test/expire/uid-c']],
    ['never expires', []],
    ['declined', []],
    ['deleted', ['test/terminate/uid-c']],
    ['released', []],
  ])('of a claim in state "%s" are %j', (stage, expected) => {
    expect(typesFor([claimAt(stage, 'c')])).toEqual(expected);
  });

  // Rule `expiration/begins-early`.
  test.each([
    ['720h', []],
    ['62m', ['test/expire/uid-c']],
    ['1h', ['test/expire/uid-c']],
  ])(
    'include an expiration once its replacement is due, for a claim of an hour that expires after %s',
    (after, due) => {
      const claim = claimAt('initialized', 'c');

      expect(typesFor([{ ...claim, spec: { ...claim.spec, expireAfter: after } }])).toEqual(due);
    },
  );

  // Rule `interruption/restarted`.
  test('include a lost interruption from the notice on its claim, and from no label or taint of its node', () => {
    const claim = claimAt('never expires', 'c');
    const status = { ...claim.status, providerID: 'aws:///us-west-2a/i-1' };
    const noted = (
      text: string,
      { on = 'NodeClaim', ...more }: { on?: string } & Partial<ObjectMeta> = {},
    ): string[] => {
      const marks = { annotations: { [annotations.interruption]: text } };
      const metadata = { ...claim.metadata, ...(on === 'NodeClaim' ? marks : {}), ...more };
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels: registered, ...marks } };
      const nodeOf = (): Node => node as unknown as Node;
      const { starts } = desiredWorkflows(cluster({ claims: [{ ...claim, metadata, status }], nodeOf }));
      return starts.slice(2).map(({ workflowId, input }) => `${workflowId} ${JSON.stringify(input)}`);
    };
    const spot = '{"kind":"spot_interrupted","at":5}';

    const notice = { kind: 'spot_interrupted', at: 5, instanceId: 'i-1', messageId: 'uid-c spot_interrupted' };
    const input = { cluster: 'test', instanceId: 'i-1', notices: [notice] };
    expect(noted(spot)).toEqual([`test/interrupt/i-1 ${JSON.stringify(input)}`]);
    expect(noted(spot, { on: 'Node' })).toEqual([]);
    expect(noted('{"kind":"instance_status","at":1}', { on: 'Node' })).toEqual([]);
    const going = { deletionTimestamp: created, finalizers: [finalizers.termination] };
    expect(noted(spot, going)).toEqual([expect.stringMatching('^test/terminate/uid-c ')]);
  });

  test('include a repair for an unhealthy node, beside its expiration', () => {
    const claim = nodeClaim('c', {
      spec: { expireAfter: '1h' },
      status: { conditions: ['Registered', 'Initialized'].map((type) => ({ type, status: 'True' as const })) },
    });
    const metadata = { ...claim.metadata, creationTimestamp: created };
    const conditions = [{ type: 'Ready', status: 'False' as const, lastTransitionTime: created }];
    const nodeOf = () => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', labels: registered },
      status: { conditions },
    });

    const { starts } = desiredWorkflows(cluster({ claims: [{ ...claim, metadata }], nodeOf }));

    expect(starts.slice(2).map(({ workflowId, afterCompletion }) => [workflowId, afterCompletion])).toEqual([
      ['test/expire/uid-c', 'startAgain'],
      ['test/repair/uid-c', 'keepCompleted'],
    ]);
    // (repair/declined)
    const declined = { ...metadata, annotations: { 'stowage.dev/repair-declined': 'Ready=False: rejected by ann' } };
    const without = desiredWorkflows(cluster({ claims: [{ ...claim, metadata: declined }], nodeOf })).starts;
    expect(without.slice(2).map(({ workflowId }) => workflowId)).toEqual(['test/expire/uid-c']);
  });

  test('are those of each situation', () => {
    const kindsOf = (situation: Situation): string[] =>
      desiredWorkflows(clusterOf([situation]))
        .starts.slice(2)
        .map(({ workflowId }) => workflowId.split('/')[1] ?? '');

    expect(Object.fromEntries(situations.map((each) => [each, kindsOf(each)]))).toEqual({
      ...{ new: [], launching: ['launch'], initialized: ['expire'], 'never expires': [], declined: [] },
      ...{ deleted: ['terminate'], released: [], 'node deleted': ['terminate'], unhealthy: ['expire', 'repair'] },
      ...{ interrupted: ['interrupt', 'expire'], 'static pool': ['replicas'], 'drifted pool': ['drift', 'expire'] },
    });
  });

  test('include keepReplicas of a static NodePool, where its gate is on', () => {
    const pool = nodePool('static', { replicas: 2 });

    expect(typesFor([], [pool])).toEqual([`test/replicas/${pool.metadata.uid ?? ''}`]);
    const off = cluster({ pools: [pool], gates: { NodeRepair: false, StaticCapacity: false } });
    expect(desiredWorkflows(off).starts).toHaveLength(2);
  });

  test('name an unparsable claim, and include the others', () => {
    const broken = claimAt('initialized', 'broken');
    const claims = [{ ...broken, spec: { ...broken.spec, expireAfter: 'soon' } }, claimAt('launching', 'c')];

    const { starts, unreadable } = desiredWorkflows(cluster({ claims }));

    expect(starts.slice(2).map(({ workflowId }) => workflowId)).toEqual(['test/launch/uid-c']);
    expect(unreadable).toEqual([{ object: 'NodeClaim broken', error: expect.stringContaining('expireAfter') }]);
  });
});

describe('the workflow reconciler', () => {
  const reconcilerOf = (engine: WorkflowEngine, observe: () => ObservedCluster): WorkflowReconciler =>
    new WorkflowReconciler(engine, observe, silentLog, silentMetrics);

  test('starts workflows that were removed from Temporal again, and starts none twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...situations), { maxLength: 12 }),
        fc.array(fc.array(fc.nat(40), { maxLength: 8 }), { maxLength: 4 }),
        async (chosen, removals) => {
          const observed = clusterOf(chosen);
          const { starts, unreadable } = desiredWorkflows(observed);
          const engine = new FakeEngine();
          const reconciler = reconcilerOf(engine, () => observed);
          const wanted = starts.map(({ workflowId }) => workflowId);
          expect([unreadable, new Set(wanted).size]).toEqual([[], wanted.length]);
          await reconciler.pass();
          expect(engine.starts).toEqual(wanted);

          for (const removal of removals) {
            const removed = new Set(removal.flatMap((i) => wanted[i] ?? []));
            for (const id of removed) engine.open.delete(id);
            engine.starts.length = 0;
            await reconciler.pass();
            expect(new Set(engine.starts)).toEqual(removed);
            expect(engine.starts).toHaveLength(removed.size);
            for (const claim of observed.claims) await reconciler.claimChanged(claim);
            for (const pool of observed.pools) await reconciler.poolChanged(pool);
            expect(engine.starts).toHaveLength(removed.size);
          }
          expect(engine.open).toEqual(new Set(wanted));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('converges with late lists, failing calls and completing runs, and nothing runs twice', async () => {
    type Step = {
      readonly removed: readonly number[];
      readonly completed: readonly number[];
      readonly refused: readonly number[];
    };
    const ids = fc.array(fc.nat(40), { maxLength: 6 });
    const steps: fc.Arbitrary<Step[]> = fc.array(fc.record({ removed: ids, completed: ids, refused: ids }), {
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...situations), { maxLength: 12 }),
        steps,
        fc.nat(3),
        async (inCluster, all, lag) => {
          const observed = clusterOf(inCluster);
          const { starts } = desiredWorkflows(observed);
          const wanted = starts.map(({ workflowId }) => workflowId);
          const among = (chosen: readonly number[]): ReadonlySet<string> =>
            new Set(chosen.flatMap((i) => wanted[i] ?? []));
          const engine = new FakeEngine();
          engine.lag = lag;
          const reconciler = reconcilerOf(engine, () => observed);

          for (const { removed, completed, refused } of all) {
            for (const id of among(removed)) engine.open.delete(id);
            for (const id of among(completed)) if (engine.open.delete(id)) engine.completed.add(id);
            const refusedNow = among(refused);
            engine.refuses = (id) => refusedNow.has(id);
            await reconciler.pass().catch((error: unknown) => expect(String(error)).toContain('RESOURCE_EXHAUSTED'));
          }
          engine.refuses = () => false;
          for (let pass = 0; pass <= lag + 1; pass++) await reconciler.pass();

          const kept = starts.filter(
            ({ workflowId, afterCompletion }) =>
              afterCompletion !== 'keepCompleted' || !engine.completed.has(workflowId),
          );
          expect(engine.open).toEqual(new Set(kept.map(({ workflowId }) => workflowId)));
        },
      ),
      { numRuns: 200 },
    );
  });

  test('goes on after a failure, and reports it at the end', async () => {
    const engine = new FakeEngine();
    const tainted = claimAt('initialized', 'tainted');
    const metadata = { ...tainted.metadata, annotations: { [annotations.disruptionOwner]: 'test/consolidate/closed' } };
    const claims = [{ ...tainted, metadata }, claimAt('launching', 'b')];
    const reconciler = reconcilerOf(engine, () => cluster({ claims }));
    engine.open.add('test/launch/uid-gone');
    engine.open.add('test/launch/uid-gone-too');
    await reconciler.pass();
    engine.open.delete('test/launch/uid-b');
    engine.open.delete('test/disrupt');
    engine.disruptSignals = 0;
    const refused = new Set(['test/disrupt', 'test/launch/uid-gone']);
    engine.refuses = (id) => refused.has(id);

    const report = await reconciler.pass().then(() => '', String);

    expect(report).toContain('1 of 2 workflows could not be started: test/disrupt: RESOURCE_EXHAUSTED');
    expect(report).toContain('1 of 2 workflows could not be ended: test/launch/uid-gone: RESOURCE_EXHAUSTED');
    expect(engine.open).toContain('test/launch/uid-b');
    expect(engine.objectless).toEqual(['test/launch/uid-gone-too']);
    expect(engine.disruptSignals).toBe(1);
  });

  // Rule `people/questions-end-with-their-cause`.
  test.each([
    ['expire', 'cancel'],
    ['repair', 'cancel'],
    ['replace', 'cancel'],
    ['launch', 'nodeChanged'],
  ])('%s of a NodeClaim that is gone gets %s, because a person may hold a disruption', async (kind, got) => {
    const done: string[] = [];
    const note = (what: string): Promise<void> => Promise.resolve(void done.push(what));
    const handle = { cancel: () => note('cancel'), signal: ({ name }: { readonly name: string }) => note(name) };
    const client = { workflow: { getHandle: () => handle } } as unknown as ConstructorParameters<typeof Starter>[0];
    await new Starter(client, 'test').endObjectless(`test/${kind}/uid-gone`);
    expect(done).toEqual([got]);
  });

  test('starts the others where one cannot be started, and tries that again', async () => {
    const claims = ['a', 'b', 'c'].map((name) => claimAt('launching', name));
    const engine = new FakeEngine();
    const reconciler = reconcilerOf(engine, () => cluster({ claims }));
    engine.refuses = (id) => id.endsWith('uid-b');

    await expect(reconciler.pass()).rejects.toThrow('1 of 5 workflows could not be started');
    expect(engine.open).toEqual(new Set(['test/provision', 'test/disrupt', 'test/launch/uid-a', 'test/launch/uid-c']));

    engine.refuses = () => false;
    await reconciler.pass();
    expect(engine.open.has('test/launch/uid-b')).toBe(true);
  });

  test('looks at a changed claim by itself, and leaves a new one to its creator for a moment', async () => {
    const engine = new FakeEngine();
    const fresh = claimAt('new', 'c');
    const byHand = { ...fresh, metadata: { ...fresh.metadata, finalizers: [] } };
    const reconciler = reconcilerOf(engine, () => cluster({ claims: [fresh] }));

    expect(await reconciler.claimChanged(fresh)).toEqual({ afterMs: 60_000 });
    expect(await reconciler.claimChanged(byHand)).toEqual({ afterMs: 5000 });
    expect(engine.starts).toEqual([]);

    expect(await reconciler.claimChanged(claimAt('launching', 'c'))).toBeUndefined();
    expect(engine.starts).toEqual(['test/launch/uid-c']);
  });

  test('signals to disrupt the nodes that a closed workflow left tainted', async () => {
    const engine = new FakeEngine();
    const claim = claimAt('initialized', 'c');
    const owned = { ...claim.metadata, annotations: { [annotations.disruptionOwner]: 'test/consolidate/x' } };
    const reconciler = reconcilerOf(engine, () => cluster({ claims: [{ ...claim, metadata: owned }] }));
    engine.open.add('test/consolidate/x');
    await reconciler.pass();
    expect(engine.disruptSignals).toBe(0);

    engine.open.delete('test/consolidate/x');
    await reconciler.pass();
    expect(engine.disruptSignals).toBe(1);
  });

  test('signals a workflow whose claim is gone once the cache lacks it twice', async () => {
    const engine = new FakeEngine();
    let claims = [claimAt('launching', 'c')];
    const reconciler = reconcilerOf(engine, () => cluster({ claims }));
    engine.open.add('test/terminate/uid-removed-by-force');
    await reconciler.pass();

    claims = [];
    await reconciler.pass();
    expect(engine.objectless).toEqual([]);
    await reconciler.pass();

    expect(engine.objectless).toEqual(['test/launch/uid-c']);
  });
});
