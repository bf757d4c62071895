import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { annotations, labels, taints } from '../../api/labels.js';
import { interruptionNoteOf, noteInterruption } from '../../cluster/interruption-note.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { Candidate } from '../../workflows/messages.js';
import type { DisruptionActivities } from './contract.js';
import { disruptionContext } from '../disruption-context/disruption-context.js';
import { createDisruptionActivities } from './disruption.js';

const nothing = { nominations: [], pauses: [], running: [] };
const both = ['a', 'b'].map((name) => ({ claim: { name, uid: `uid-${name}` }, node: `node-${name}` }));

describe('disruption on the cluster', () => {
  let world: ActivityWorld;
  let activities: DisruptionActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    activities = createDisruptionActivities(world.deps);
    const disruption = { consolidateAfter: '30s', budgets: [{ nodes: '50%' }] };
    world.kube.put('NodePool', ready(nodePool('default', { disruption })));
    world.kube.put('EC2NodeClass', nodeClass('default'));
    for (const name of ['a', 'b']) putNode(name);
    await world.synced();
  });
  afterEach(() => world.stop());

  function putNode(name: string): void {
    const lastTransitionTime = new Date(world.clock.now - 600_000).toISOString();
    const initialized = { type: 'Initialized', status: 'True' as const, lastTransitionTime };
    const own = nodeClaim(name, { status: { providerID: `fake:///a/i-${name}`, conditions: [initialized] } });
    const typeLabels = { [labels.instanceType]: 'm5.xlarge', [labels.zone]: 'a', [labels.capacityType]: 'spot' };
    world.kube.put('NodeClaim', {
      ...own,
      metadata: { ...own.metadata, labels: { ...own.metadata.labels, ...typeLabels } },
    });
    world.kube.put('Node', {
      metadata: { name: `node-${name}` },
      spec: { providerID: `fake:///a/i-${name}` },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
  }
  const putPod = async (node: string): Promise<void> => {
    world.kube.put('Pod', {
      metadata: { name: `on-${node}`, namespace: 'default' },
      spec: { nodeName: node, containers: [] },
      status: { phase: 'Running' },
    });
    await world.synced();
  };
  const candidates = async (): Promise<readonly Candidate[]> =>
    (await activities.findDisruptions(nothing)).commands.flatMap((command) => command.candidates);
  /** An admission policy that lets nobody write the node. */
  const refuse = (node: string): void => {
    const patch = world.kube.patch.bind(world.kube);
    const denied = new DomainError('Denied', 'policy says no', { status: 403 });
    Object.assign(world.kube, {
      patch: (...args: Parameters<typeof patch>) => (args[1].name === node ? Promise.reject(denied) : patch(...args)),
    });
  };
  const taintsOf = async (node: string) => (await world.kube.get('Node', { name: node }))?.spec?.taints ?? [];

  test('finds empty nodes within the budget, with their price', async () => {
    const { commands, held } = await activities.findDisruptions(nothing);

    expect(commands).toMatchObject([{ reason: 'Empty', candidates: [{ node: 'node-a', pricePerHour: 0.06 }] }]);
    expect(held).toEqual([{ nodePool: 'default', why: '2 empty, 1 more allowed by budget 50%' }]);
  });

  test('what runs counts against the budget, and a pause stops the pool', async () => {
    const [first] = await candidates();
    const running = [{ workflowId: 'w', reason: 'Empty' as const, candidates: [first!], since: 0 }];
    const pause = { scope: { kind: 'nodePool' as const, name: 'default' }, reason: 'release', actor: 'me' };

    expect((await activities.findDisruptions({ ...nothing, running })).commands).toEqual([]);
    expect((await activities.findDisruptions({ ...nothing, pauses: [pause] })).commands).toEqual([]);
  });

  test('a slot for a node that is being taken waits, unless a pause keeps that from going on', async () => {
    const node = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const running = [{ workflowId: 'w', reason: 'Underutilized' as const, candidates: [node], since: 0 }];
    const requests = [{ id: 'x', reason: 'Expired' as const, candidates: [node] }];
    const pause = { scope: { kind: 'reason' as const, name: 'Underutilized' }, reason: 'release', actor: 'me' };
    const decided = async (view: object): Promise<unknown> =>
      (await activities.decideSlots({ view: { ...nothing, running, ...view }, requests })).decisions;

    expect(await decided({})).toMatchObject([{ granted: [], refused: [{ node: 'node-a' }] }]);
    expect(await decided({ pauses: [pause] })).toMatchObject([{ granted: [node], refused: [] }]);
  });

  // Rule `people/one-after-another`.
  test('answers about empty nodes first, and counts in the order of the requests', async () => {
    const node = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const requests = (['Underutilized', 'Empty'] as const).map((reason) => ({
      id: reason,
      reason,
      candidates: [node],
    }));

    const { decisions } = await activities.decideSlots({ view: nothing, requests });

    expect(decisions.map(({ id }) => id)).toEqual(['Empty', 'Underutilized']);
  });

  test('a pool whose node class is broken harms no other', async () => {
    const broken = nodePool('broken');
    broken.spec.template.spec.nodeClassRef.name = 'missing';
    world.kube.put('NodePool', broken);
    await world.synced();

    expect(await candidates()).toHaveLength(1);
  });

  // Given a pod arrives during the 15s validation, then the command is abandoned.
  test('validation drops a node that pods have come to', async () => {
    const found = await candidates();
    await putPod('node-a');

    const { valid, dropped } = await activities.validateCandidates({ reason: 'Empty', candidates: found });

    expect(valid).toEqual([]);
    expect(dropped).toEqual([{ node: 'node-a', why: 'pods were bound to it' }]);
  });

  // Rule `commands/taint-first`.
  test('taints and says why; taking it back leaves nothing', async () => {
    const found = await candidates();

    await expect(activities.taintCandidates({ reason: 'Empty', candidates: found })).resolves.toEqual({
      tainted: ['uid-a'],
    });
    expect(await taintsOf('node-a')).toEqual([taints.disrupted]);
    expect(isTrue((await world.kube.get('NodeClaim', { name: 'a' }))?.status?.conditions, 'DisruptionReason')).toBe(
      true,
    );

    const counted: unknown[] = [];
    Object.assign(world.deps.metrics, { count: (...call: unknown[]) => void counted.push(call) });
    await activities.untaintCandidates({ candidates: found });
    await activities.untaintCandidates({ candidates: found });
    expect(counted).toEqual([
      ['voluntary_disruption_queue_failures_total', { decision: '', reason: 'empty', consolidation_type: '' }],
    ]);
    expect(await taintsOf('node-a')).toEqual([]);
    expect(
      conditionOf((await world.kube.get('NodeClaim', { name: 'a' }))?.status?.conditions, 'DisruptionReason'),
    ).toBeUndefined();
  });

  // Given controller restart mid-command, then leftover taints are removed.
  // Rule `candidates/left-over-taints`.
  test('frees nodes of disruptions that nobody runs, and only those', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found });
    await activities.taintCandidates({
      reason: 'spot_interrupted',
      candidates: [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' }],
    });
    await world.synced();
    const running = [{ workflowId: 'w', reason: 'Empty' as const, candidates: found, since: 0 }];

    await expect(activities.releaseStrays({ running })).resolves.toMatchObject({ released: [] });
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: ['node-a'] });
    expect(await taintsOf('node-a')).toEqual([]);
    expect(await taintsOf('node-b')).toEqual([taints.disrupted]);
  });

  test('a taint that names its owner is left to that for as long as it runs', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner: 'w' });
    await world.synced();
    let isOpen = true;
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(isOpen) });

    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: [] });
    await activities.untaintCandidates({ candidates: found, owner: 'another' });
    expect(await taintsOf('node-a')).toEqual([taints.disrupted]);

    isOpen = false;
    const running = [{ workflowId: 'w', reason: 'Empty' as const, candidates: found, since: 0 }];
    await expect(activities.releaseStrays({ running })).resolves.toMatchObject({ released: ['node-a'] });
    const { metadata } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations?.[annotations.disruptionOwner]).toBeUndefined();
  });

  // Rule `candidates/left-over-taints`.
  test('a taint of a workflow that was started again under its id is removed, and not one that the new one has set since', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Expired', candidates: found, owner: 'w', ownerRun: 'first' });
    await world.synced();
    let current = 'first';
    const isOpen = (_: string, run?: string): Promise<boolean> => Promise.resolve(run === undefined || run === current);
    Object.assign(world.deps.entities, { isOpen });
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: [] });

    current = 'second';
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: ['node-a'] });
    expect(await taintsOf('node-a')).toEqual([]);

    await activities.taintCandidates({ reason: 'Expired', candidates: found, owner: 'w', ownerRun: 'second' });
    await world.synced();
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: [] });
    // Another owner without a run, such as an interruption, leaves none of the run before.
    await activities.taintCandidates({ reason: 'Expired', candidates: found, owner: 'v' });
    const { metadata } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations).toMatchObject({ [annotations.disruptionOwner]: 'v' });
    expect(metadata.annotations).not.toHaveProperty([annotations.disruptionOwnerRun]);
  });

  test('a claim that says so is freed though somebody took the taint off its node', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner: 'w' });
    await world.kube.patch('Node', { name: 'node-a' }, { spec: { taints: [] } });
    await world.synced();
    let isOpen = true;
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(isOpen) });
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: [] });

    isOpen = false;
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: ['node-a'] });

    const { metadata, status } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations?.[annotations.disruptionOwner]).toBeUndefined();
    expect(isTrue(status?.conditions, 'DisruptionReason')).toBe(false);
  });

  test('disruptions whose workflow has closed are told, but for those that are about to begin and those that nobody can say', async () => {
    const isOpen = (id: string): Promise<boolean> =>
      id === 'unknown' ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(id === 'open');
    Object.assign(world.deps.entities, { isOpen });
    const since = { open: 0, closed: 0, unknown: 0, young: world.deps.now() - 59_000 };
    const running = Object.entries(since).map(([workflowId, at]) => ({
      ...{ workflowId, reason: 'Empty' as const, candidates: [], since: at },
    }));
    await expect(activities.releaseStrays({ running })).resolves.toMatchObject({ ended: ['closed'] });
  });

  // Rules `invariants/pauses-hold`, `budgets/slots-have-holders`.
  test('workflows that are held and holders of slots are told; nothing is said of those that cannot be listed, and taints are released all the same', async () => {
    const holders = [{ workflowId: 'test/expire/uid-b', runId: 'run-1' }];
    const held = ['test/consolidate/x'];
    const away = () => Promise.reject(new Error('Temporal is away'));
    const entities = (lists: object): unknown => Object.assign(world.deps.entities, lists);
    entities({ held: () => Promise.resolve(held), slotHolders: () => Promise.resolve(holders) });
    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ held, holders });

    await activities.taintCandidates({ reason: 'Empty', candidates: await candidates(), owner: 'w' });
    await world.synced();
    entities({ held: away, slotHolders: away });
    expect(await activities.releaseStrays({ running: [] })).toEqual({ released: ['node-a'], owners: [] });
  });

  // Rule `people/questions-end-with-their-cause`.
  test('what is held is cancelled once a NodeClaim of it is gone, but not while it waits in its drain, nor what has all of them', async () => {
    const cancelled: string[] = [];
    const one = (name: string) => ({ claim: { name, uid: `uid-${name}` }, node: `node-${name}`, nodePool: 'default' });
    const [alone, draining, whole] = ['alone', 'draining', 'whole'].map((name) => `test/consolidate/${name}`);
    await activities.taintCandidates({ reason: 'Empty', candidates: [one('b')], owner: draining! });
    await world.synced();
    const held = [alone!, draining!, whole!, 'test/expire/uid-gone', 'test/expire/uid-a', 'test/drift/uid-pool/hash'];
    Object.assign(world.deps.entities, {
      ...{ isOpen: () => Promise.resolve(true), held: () => Promise.resolve(held) },
      cancel: (id: string) => Promise.resolve(void cancelled.push(id)),
    });
    const running = Object.entries({ [alone!]: ['a', 'gone'], [draining!]: ['b', 'gone'], [whole!]: ['a'] }).map(
      ([workflowId, names]) => ({ workflowId, reason: 'Empty' as const, candidates: names.map(one), since: 0 }),
    );

    await activities.releaseStrays({ running });

    expect(cancelled).toEqual([alone, 'test/expire/uid-gone']);
  });

  test('owners that run and that nobody remembers are told, with what they have tainted', async () => {
    const [first] = await candidates();
    const marked = (name: string) => [{ claim: { name, uid: `uid-${name}` }, node: `node-${name}` }];
    await activities.taintCandidates({ reason: 'Empty', candidates: marked('a'), owner: 'test/consolidate/x' });
    await activities.taintCandidates({ reason: 'Drifted', candidates: marked('b'), owner: 'test/replace/uid-b' });
    await world.synced();
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(true) });
    const owners = async (running: Parameters<typeof activities.releaseStrays>[0]['running']): Promise<unknown> =>
      (await activities.releaseStrays({ running })).owners;
    const a = { workflowId: 'test/consolidate/x', reason: 'Empty' as const };
    const b = { workflowId: 'test/replace/uid-b', reason: 'Drifted' };
    const nodeB = { claim: { name: 'b', uid: 'uid-b' }, node: 'node-b', nodePool: 'default' };

    const nodeA = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    expect(await owners([])).toEqual([
      { ...a, candidates: [nodeA] },
      { ...b, candidates: [nodeB] },
    ]);
    expect(await owners([{ ...a, candidates: [first!], since: 0 }])).toEqual([{ ...b, candidates: [nodeB] }]);
    // What was adopted before is told again, for as long as it is so.
    expect(await owners([{ ...a, candidates: [first!], since: 0, isAdopted: true }])).toHaveLength(2);
  });

  // Rule `interruption/restarted`.
  test.each([
    ['spot_interrupted', [taints.disrupted]],
    ['rebalance_recommendation', []],
  ])('the taint of an interruption (%s) that was terminated: %j stays', async (reason, left) => {
    const node = { claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' };
    await activities.taintCandidates({ reason, candidates: [node], owner: 'test/interrupt/i-b', noticedAt: 5 });
    await world.synced();
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(false) });

    await activities.releaseStrays({ running: [] });

    expect(await taintsOf('node-b')).toEqual(left);
  });

  // Rule `interruption/recorded-first`.
  test('the taint of a noted interruption stays, whoever else tainted the node, until that interruption itself frees it', async () => {
    const [node] = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: [node!], owner: 'test/consolidate/x' });
    const seen = (await world.kube.get('Node', { name: 'node-a' }))!;
    const claim = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    await noteInterruption(world.kube, { claim, node: seen }, { kind: 'spot_interrupted', at: 5 });
    await activities.untaintCandidates({ candidates: [node!], owner: 'test/consolidate/x' });
    await world.synced();

    await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: [] });
    expect(await taintsOf('node-a')).toEqual([taints.disrupted]);

    const owner = 'test/interrupt/i-a';
    await activities.taintCandidates({ reason: 'spot_interrupted', candidates: [node!], owner });
    await activities.untaintCandidates({ candidates: [node!], owner });
    expect(await taintsOf('node-a')).toEqual([]);
    expect(interruptionNoteOf((await world.kube.get('NodeClaim', { name: 'a' }))!)).toBeUndefined();
  });

  test('a node that may not be written holds up no other', async () => {
    refuse('node-a');

    await expect(activities.taintCandidates({ reason: 'Unhealthy', candidates: both, owner: 'w' })).resolves.toEqual({
      tainted: ['uid-b'],
    });
    expect(world.events).toContainEqual(
      expect.objectContaining({
        reason: 'DisruptionBlocked',
        message: 'The API server refused the taint: policy says no',
      }),
    );
    await activities.untaintCandidates({ candidates: both, owner: 'w' });
    expect(await taintsOf('node-b')).toEqual([]);
  });

  describe('budgets are counted when nodes are about to be tainted (budgets/counted-at-the-taint)', () => {
    test.each([
      ['Empty', ['uid-a']],
      ['Underutilized', ['uid-a']],
      ['Drifted', ['uid-a']],
      ['Expired', ['uid-a']],
      ['Unhealthy', ['uid-a', 'uid-b']],
      ['spot_interrupted', ['uid-a', 'uid-b']],
    ])('%s: of two nodes where half may go, %j', async (reason, tainted) => {
      const marked = await activities.taintCandidates({ reason, candidates: both, owner: 'w' });

      expect(marked.tainted).toEqual(tainted);
      const refused = both.filter(({ claim }) => !tainted.includes(claim.uid)).map(({ node }) => node);
      expect(marked.overBudget ?? []).toEqual(refused.map((node) => ({ node, why: 'budget 50% allows no more' })));
    });

    test('what others have tainted meanwhile counts, and what an earlier attempt of this one has is counted once', async () => {
      const [a, b] = both;
      await activities.taintCandidates({ reason: 'Empty', candidates: [a!], owner: 'w' });
      await world.synced();
      const again = await activities.taintCandidates({ reason: 'Empty', candidates: [a!], owner: 'w' });
      const other = await activities.taintCandidates({ reason: 'Drifted', candidates: [b!], owner: 'x' });

      expect(again).toEqual({ tainted: ['uid-a'] });
      expect(other).toEqual({ tainted: [], overBudget: [{ node: 'node-b', why: 'budget 50% allows no more' }] });
    });

    test('a node that an earlier attempt tainted, and that another budget forbids since, is free again', async () => {
      const candidates = both.slice(0, 1);
      await activities.taintCandidates({ reason: 'Empty', candidates, owner: 'w' });
      const disruption = { consolidateAfter: '30s', budgets: [{ nodes: '0' }] };
      world.kube.put('NodePool', ready(nodePool('default', { disruption })));
      await world.synced();

      const { tainted } = await activities.taintCandidates({ reason: 'Empty', candidates, owner: 'w' });

      expect(tainted).toEqual([]);
      expect(await taintsOf('node-a')).toEqual([]);
    });

    test('while the cache lags behind the API server nothing is tainted, and the step is tried again', async () => {
      world.deps.cache.isFresh = (kind) => Promise.resolve(kind !== 'NodeClaim');

      await expect(activities.taintCandidates({ reason: 'Empty', candidates: both })).rejects.toMatchObject({
        type: 'Unavailable',
        message: 'the cache lags behind the API server: NodeClaim. Budgets cannot be counted.',
      });
      expect(await taintsOf('node-a')).toEqual([]);
      const hint = await activities.taintCandidates({ reason: 'spot_interrupted', candidates: both });
      expect(hint.tainted).toHaveLength(2);
    });
  });

  test('budgets count a node that is tainted, whoever remembers it', async () => {
    await activities.taintCandidates({ reason: 'Empty', candidates: await candidates(), owner: 'w' });
    await world.synced();
    const { counts } = await disruptionContext(world.deps, { nominations: [], pauses: [], running: [] });
    expect([...counts.values()]).toMatchObject([{ disrupting: 1 }]);
  });

  test('a decision that is looked at again does not count its own taints', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner: 'w' });
    await world.synced();

    const { valid } = await activities.validateCandidates({ reason: 'Empty', candidates: found });

    expect(valid).toEqual(found);
  });

  test.each(['Drifted', 'Expired', 'Unhealthy'])(
    'frees a node that was to be replaced (%s) likewise',
    async (reason) => {
      await activities.taintCandidates({
        reason,
        candidates: [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' }],
      });
      await world.synced();

      await expect(activities.releaseStrays({ running: [] })).resolves.toMatchObject({ released: ['node-b'] });
    },
  );
});
