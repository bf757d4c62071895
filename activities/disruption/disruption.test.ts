import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { annotations, labels, taints } from '../../api/labels.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import { interruptionNoteOf, noteInterruption } from '../../cluster/interruption-note.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { recordsOf } from '../../cluster/pool-records.js';
import type { Candidate, PauseScope } from '../../workflows/messages.js';
import { createPauseActivities } from '../people/pauses.js';
import type { DisruptionActivities } from './contract.js';
import { disruptionContext } from '../disruption-context/disruption-context.js';
import { createDisruptionActivities } from './disruption.js';
import { removeLeftOvers } from './left-over-taints.js';

const nothing = { nominations: [], commands: [] };
const owner = 'test/consolidate/w';
const both = ['a', 'b'].map((name) => ({ claim: { name, uid: `uid-${name}` }, node: `node-${name}` }));

describe('disruption activities on a cluster', () => {
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
  /** An admission policy that refuses writes of the node. */
  const refuse = (node: string): void => {
    const patch = world.kube.patch.bind(world.kube);
    const denied = new DomainError('Denied', 'policy says no', { status: 403 });
    Object.assign(world.kube, {
      patch: (...args: Parameters<typeof patch>) => (args[1].name === node ? Promise.reject(denied) : patch(...args)),
    });
  };
  const pause = (scope: PauseScope) =>
    createPauseActivities(world.deps).writePause({ scope, reason: 'release', actor: 'ann' });
  const recordsIn = async (name = 'default') => recordsOf((await world.kube.get('NodePool', { name }))!).records;
  const waitIn = async (name: string) => waitOf((await world.kube.get('NodeClaim', { name }))!);
  const taintsOf = async (node: string) => (await world.kube.get('Node', { name: node }))?.spec?.taints ?? [];

  test('empty nodes are found within the budget, with their price', async () => {
    const { commands, held } = await activities.findDisruptions(nothing);

    expect(commands).toMatchObject([{ reason: 'Empty', candidates: [{ node: 'node-a', pricePerHour: 0.06 }] }]);
    expect(held).toEqual([{ nodePool: 'default', why: '2 empty, 1 more allowed by budget 50%' }]);
  });

  test('running disruptions count against the budget, and a pause stops the NodePool', async () => {
    const [first] = await candidates();
    const commands = [{ workflowId: 'w', reason: 'Empty' as const, candidates: [first!], since: 0 }];

    expect((await activities.findDisruptions({ ...nothing, commands })).commands).toEqual([]);
    await pause({ kind: 'nodePool', name: 'default' });
    expect((await activities.findDisruptions(nothing)).commands).toEqual([]);
  });

  // Rule `consolidation/when-it-searches`.
  test('while many nodes join it searches every 20 seconds, and at once when they have joined', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `coming-${i}`);
    for (const name of names) world.kube.put('NodeClaim', nodeClaim(name));
    await world.synced();
    expect(await candidates()).toHaveLength(1);

    world.clock.now += 19_000;
    const { commands, nextCheckAt } = await activities.findDisruptions(nothing);
    expect({ commands, nextCheckAt }).toEqual({ commands: [], nextCheckAt: world.clock.now + 1000 });
    world.clock.now += 1000;
    expect(await candidates()).toHaveLength(1);

    for (const name of names) await world.kube.delete('NodeClaim', { name }, { uid: nodeClaim(name).metadata.uid });
    await world.synced();
    expect(await candidates()).toHaveLength(1);
  });

  test('a NodePool with a broken node class does not affect others', async () => {
    const broken = nodePool('broken');
    broken.spec.template.spec.nodeClassRef.name = 'missing';
    world.kube.put('NodePool', broken);
    await world.synced();

    expect(await candidates()).toHaveLength(1);
  });

  // Given a pod arrives during the 15s validation, then the command is abandoned.
  test('validation drops a node to which pods were bound', async () => {
    const found = await candidates();
    await putPod('node-a');

    const { valid, dropped } = await activities.validateCandidates({ reason: 'Empty', candidates: found });

    expect(valid).toEqual([]);
    expect(dropped).toEqual([{ node: 'node-a', why: 'pods were bound to it' }]);
  });

  // Rule `candidates/left-over-taints`.
  test('while nodes count the next search is due within two minutes, since their workflows may end without a signal', async () => {
    await activities.taintCandidates({ reason: 'Expired', candidates: [both[0]!], owner });
    await world.synced();

    const { nextCheckAt } = await activities.findDisruptions(nothing);

    expect(nextCheckAt).toBeLessThanOrEqual(world.clock.now + 2 * 60_000);
  });

  // Rule `commands/taint-first`.
  test('candidates are tainted with the reason in their condition, and untainted without a trace', async () => {
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
  test('taints of disruptions that no workflow runs are removed, and no others', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner });
    await activities.taintCandidates({
      reason: 'spot_interrupted',
      candidates: [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' }],
    });
    await world.synced();
    let isOpen = true;
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(isOpen) });
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});
    isOpen = false;
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toMatchObject({
      released: ['node-a'],
    });
    expect(await taintsOf('node-a')).toEqual([]);
    expect(await taintsOf('node-b')).toEqual([taints.disrupted]);
  });

  test('a taint that names its owner stays as long as that workflow runs', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner });
    await world.synced();
    let isOpen = true;
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(isOpen) });

    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});
    await activities.untaintCandidates({ candidates: found, owner: 'another' });
    expect(await taintsOf('node-a')).toEqual([taints.disrupted]);

    isOpen = false;
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toMatchObject({
      released: ['node-a'],
    });
    expect((await recordsIn()).disrupting).toEqual([]);
    const { metadata } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations?.[annotations.disruptionOwner]).toBeUndefined();
  });

  // Rule `candidates/left-over-taints`.
  test('a taint of a workflow that was started again under its id is removed, unless the new run has set it', async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Expired', candidates: found, owner, ownerRun: 'first' });
    await world.synced();
    let current = 'first';
    const isOpen = (_: string, run?: string): Promise<boolean> => Promise.resolve(run === undefined || run === current);
    Object.assign(world.deps.entities, { isOpen });
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});

    current = 'second';
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toMatchObject({
      released: ['node-a'],
    });
    expect(await taintsOf('node-a')).toEqual([]);

    await activities.taintCandidates({ reason: 'Expired', candidates: found, owner, ownerRun: 'second' });
    await world.synced();
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});
    // Another owner without a run, such as an interruption, leaves none of the run before.
    await activities.taintCandidates({ reason: 'spot_interrupted', candidates: found, owner: 'v' });
    const { metadata } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations).toMatchObject({ [annotations.disruptionOwner]: 'v' });
    expect(metadata.annotations).not.toHaveProperty([annotations.disruptionOwnerRun]);
  });

  test("a claim with a disruption owner is released though its node's taint was removed by hand", async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner });
    await world.kube.patch('Node', { name: 'node-a' }, { spec: { taints: [] } });
    await world.synced();
    let isOpen = true;
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(isOpen) });
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});

    isOpen = false;
    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toMatchObject({
      released: ['node-a'],
    });

    const { metadata, status } = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    expect(metadata.annotations?.[annotations.disruptionOwner]).toBeUndefined();
    expect(isTrue(status?.conditions, 'DisruptionReason')).toBe(false);
  });

  test('disruptions whose workflow has closed are reported, except those about to begin and those that cannot be described', async () => {
    const isOpen = (id: string): Promise<boolean> =>
      id === 'unknown' ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(id === 'open');
    Object.assign(world.deps.entities, { isOpen });
    const since = { open: 0, closed: 0, unknown: 0, young: world.deps.now() - 59_000 };
    const commands = Object.entries(since).map(([workflowId, at]) => ({
      ...{ workflowId, reason: 'Empty' as const, candidates: [], since: at },
    }));
    await expect(removeLeftOvers(world.deps, { commands })).resolves.toMatchObject({
      ended: ['closed'],
    });
  });

  test('counts of a disruption whose workflow ended before its taint, and requests that one waited for, are removed with it', async () => {
    await activities.taintCandidates({ reason: 'Empty', candidates: [both[0]!], owner: 'w' });
    await activities.untaintCandidates({ candidates: [both[0]!] });
    const disrupting = [{ uid: 'uid-a', owner: 'w', reason: 'Empty', at: 0 }];
    const annotation = { [annotations.disruptionRecords]: JSON.stringify({ disrupting }) };
    await world.kube.patch('NodePool', { name: 'default' }, { metadata: { annotations: annotation } });
    await world.synced();
    await activities.taintCandidates({ reason: 'Expired', candidates: [both[1]!], owner: 'x', waitsFor: ['Budget'] });
    expect(await waitIn('b')).toMatchObject({ workflow: 'x', reason: 'Expired', for: 'Budget' });
    await world.synced();

    await removeLeftOvers(world.deps, { commands: [] });

    expect((await recordsIn()).disrupting).toEqual([]);
    expect(await waitIn('b')).toBeUndefined();
  });

  // Rule `candidates/left-over-taints`.
  test.each(['', 'rubbish', 'another-cluster/expire/uid-b'])(
    'counts and requests in the name of %j, which is no workflow of this cluster, are removed without asking Temporal',
    async (workflow) => {
      const isOpen = (): Promise<boolean> => Promise.reject(new Error('no workflow has this id'));
      Object.assign(world.deps.entities, { isOpen });
      const disrupting = [{ uid: 'uid-a', owner: workflow, reason: 'Empty', at: 0 }];
      const wait = { workflow, reason: 'Unhealthy', for: 'Budget', why: 'full', since: 0 };
      const note = (key: string, value: unknown) => ({ metadata: { annotations: { [key]: JSON.stringify(value) } } });
      await world.kube.patch('NodePool', { name: 'default' }, note(annotations.disruptionRecords, { disrupting }));
      await world.kube.patch('NodeClaim', { name: 'b' }, note(annotations.disruptionWait, wait));
      await world.synced();

      await removeLeftOvers(world.deps, { commands: [] });

      expect((await recordsIn()).disrupting).toEqual([]);
      expect(await waitIn('b')).toBeUndefined();
    },
  );

  // Rule `interruption/restarted`.
  test.each([
    ['spot_interrupted', [taints.disrupted]],
    ['rebalance_recommendation', []],
  ])('the taint of a terminated interruption (%s): %j stays', async (reason, left) => {
    const node = { claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' };
    await activities.taintCandidates({ reason, candidates: [node], owner: 'test/interrupt/i-b', noticedAt: 5 });
    await world.synced();
    Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(false) });

    await removeLeftOvers(world.deps, { commands: [] });

    expect(await taintsOf('node-b')).toEqual(left);
  });

  // Rule `interruption/recorded-first`.
  test('the taint of an interruption recorded on the claim stays, whoever else tainted the node, until that interruption removes it', async () => {
    const [node] = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: [node!], owner: 'test/consolidate/x' });
    const seen = (await world.kube.get('Node', { name: 'node-a' }))!;
    const claim = (await world.kube.get('NodeClaim', { name: 'a' }))!;
    await noteInterruption(world.kube, { claim, node: seen }, { kind: 'spot_interrupted', at: 5 });
    await activities.untaintCandidates({ candidates: [node!], owner: 'test/consolidate/x' });
    await world.synced();

    await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toEqual({});
    expect(await taintsOf('node-a')).toEqual([taints.disrupted]);

    const owner = 'test/interrupt/i-a';
    await activities.taintCandidates({ reason: 'spot_interrupted', candidates: [node!], owner });
    await activities.untaintCandidates({ candidates: [node!], owner });
    expect(await taintsOf('node-a')).toEqual([]);
    expect(interruptionNoteOf((await world.kube.get('NodeClaim', { name: 'a' }))!)).toBeUndefined();
  });

  test('a node that cannot be written does not stop the others', async () => {
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
    ])('%s: of two nodes, half of which may be disrupted, %j', async (reason, tainted) => {
      const marked = await activities.taintCandidates({ reason, candidates: both, owner: 'w' });

      expect(marked.tainted).toEqual(tainted);
      const refused = both.filter(({ claim }) => !tainted.includes(claim.uid)).map(({ node }) => node);
      const why = { why: 'budget 50% allows no more', for: 'Budget' };
      expect(marked.refused ?? []).toEqual(refused.map((node) => ({ node, ...why })));
    });

    test('nodes tainted by others meanwhile count, and those of an earlier attempt count once', async () => {
      const [a, b] = both;
      await activities.taintCandidates({ reason: 'Empty', candidates: [a!], owner: 'w' });
      await world.synced();
      const again = await activities.taintCandidates({ reason: 'Empty', candidates: [a!], owner: 'w' });
      const other = await activities.taintCandidates({ reason: 'Drifted', candidates: [b!], owner: 'x' });

      expect(again).toEqual({ tainted: ['uid-a'] });
      expect(other).toMatchObject({ tainted: [], refused: [{ node: 'node-b', why: 'budget 50% allows no more' }] });
    });

    test('a node that an earlier attempt tainted, and that another budget refuses since, is untainted', async () => {
      const candidates = both.slice(0, 1);
      await activities.taintCandidates({ reason: 'Empty', candidates, owner: 'w' });
      const disruption = { consolidateAfter: '30s', budgets: [{ nodes: '0' }] };
      world.kube.put('NodePool', ready(nodePool('default', { disruption })));
      await world.synced();

      const { tainted } = await activities.taintCandidates({ reason: 'Empty', candidates, owner: 'w' });

      expect(tainted).toEqual([]);
      expect(await taintsOf('node-a')).toEqual([]);
    });

    test.each([1, 2, 3])(
      'of many commands that are counted at once, before any cache has a taint, as many are admitted as allowed: attempt %i',
      async () => {
        const asked = both.map((node, n) => ({
          reason: n === 0 ? 'Empty' : 'Expired',
          candidates: [node],
          owner: `w${n}`,
        }));

        const all = await Promise.all(asked.map((each) => activities.taintCandidates(each)));

        expect(all.flatMap(({ tainted }) => tainted)).toHaveLength(1);
        expect((await recordsIn()).disrupting).toHaveLength(1);
      },
    );

    test('two commands for one node are not both admitted', async () => {
      await activities.taintCandidates({ reason: 'Drifted', candidates: [both[0]!], owner: 'w' });
      await world.synced();

      const other = await activities.taintCandidates({ reason: 'Expired', candidates: [both[0]!], owner: 'x' });
      await activities.untaintCandidates({ candidates: [both[0]!], owner: 'x' });

      expect(other.refused).toMatchObject([{ node: 'node-a', why: 'another disruption of it is running' }]);
      expect(await taintsOf('node-a')).toEqual([taints.disrupted]);
    });

    test('a node that is kept no longer counts, for budgets and for rates', async () => {
      await activities.taintCandidates({ reason: 'Empty', candidates: [both[0]!], owner: 'w' });
      await world.synced();
      await activities.untaintCandidates({ candidates: [both[0]!], owner: 'w' });
      await world.synced();

      const { tainted } = await activities.taintCandidates({ reason: 'Drifted', candidates: [both[1]!], owner: 'x' });

      expect(tainted).toEqual(['uid-b']);
      expect(await recordsIn()).toMatchObject({ disrupting: [{ uid: 'uid-b', owner: 'x' }], past: [] });
    });

    // Rules `invariants/pauses-hold`, `people/waits-are-shown`.
    test('a pause is read from the API server with the taint, and a waiting command says so on its NodeClaim until it ends', async () => {
      await pause({ kind: 'node', name: 'node-a' });
      const asked = { reason: 'Expired', candidates: [both[0]!], owner: 'w', waitsFor: ['Pause'] as const };

      expect(await activities.taintCandidates(asked)).toMatchObject({
        tainted: [],
        refused: [{ node: 'node-a', for: 'Pause', why: 'node node-a is paused by ann: release' }],
      });
      expect(await waitIn('a')).toMatchObject({ workflow: 'w', reason: 'Expired', for: 'Pause' });
      expect((await recordsIn()).disrupting).toEqual([]);

      await createPauseActivities(world.deps).endPause({ scope: { kind: 'node', name: 'node-a' } });
      expect((await activities.taintCandidates(asked)).tainted).toEqual(['uid-a']);
      expect(await waitIn('a')).toBeUndefined();
    });

    // Rule `budgets/urgent-first`.
    test('a more urgent request that waits for the budget goes first, where it is allowed at all', async () => {
      const [a, b] = both;
      const expired = { reason: 'Expired', candidates: [b!], owner: 'x', waitsFor: ['Budget'] as const };
      await activities.taintCandidates({ reason: 'Drifted', candidates: [a!], owner: 'w' });
      await world.synced();
      await activities.taintCandidates(expired);
      await activities.untaintCandidates({ candidates: [a!], owner: 'w' });
      await world.synced();

      const drifted = await activities.taintCandidates({ reason: 'Drifted', candidates: [a!], owner: 'w' });
      expect(drifted.tainted).toEqual([]);
      expect((await activities.taintCandidates(expired)).tainted).toEqual(['uid-b']);
    });

    test('a request whose workflow has ended delays the others until it is looked for', async () => {
      const [a, b] = both;
      const wait = { workflow: 'test/expire/uid-b', reason: 'Expired', for: 'Budget', why: 'full', since: 0 };
      const text = { [annotations.disruptionWait]: JSON.stringify(wait) };
      await world.kube.patch('NodeClaim', { name: b!.claim.name }, { metadata: { annotations: text } });
      await world.synced();
      const drifted = { reason: 'Drifted', candidates: [a!], owner };
      expect((await activities.taintCandidates(drifted)).tainted).toEqual([]);

      Object.assign(world.deps.entities, { isOpen: () => Promise.resolve(false) });
      await removeLeftOvers(world.deps, { commands: [] });
      await world.synced();

      expect((await activities.taintCandidates(drifted)).tainted).toEqual(['uid-a']);
    });

    test.each(['null', '[]', '{"disrupting":7,"past":[null],"refused":"x"}', '{', '{"disrupting":[{"uid":"uid-b"}]}'])(
      'records that a person has made unreadable (%s) count nothing, and are written again',
      async (text) => {
        const annotation = { [annotations.disruptionRecords]: text };
        await world.kube.patch('NodePool', { name: 'default' }, { metadata: { annotations: annotation } });
        await world.synced();

        const { tainted } = await activities.taintCandidates({ reason: 'Empty', candidates: [both[0]!], owner });

        expect(tainted).toEqual(['uid-a']);
        expect((await recordsIn()).disrupting).toMatchObject([{ uid: 'uid-a', owner }]);
      },
    );

    test('nodes of a NodePool that is deleted meanwhile are released if they stay', async () => {
      await activities.taintCandidates({ reason: 'Empty', candidates: [both[0]!], owner });
      await world.synced();
      world.kube.remove('NodePool', { name: 'default' });
      await world.synced();

      await activities.taintCandidates({ reason: 'Drifted', candidates: [both[1]!], owner: 'x' });
      await activities.untaintCandidates({ candidates: [both[0]!], owner });

      expect(await taintsOf('node-a')).toEqual([]);
    });

    test('a rate counts current and past disruptions, and a refusal says when it ends', async () => {
      const spec = { rates: [{ nodes: '1', per: '1h' }] };
      const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'slow' }, spec };
      world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
      world.kube.put('NodePool', ready(nodePool('default', { disruption: { budgets: [{ nodes: '100%' }] } })));
      await world.synced();
      await activities.taintCandidates({ reason: 'Empty', candidates: [both[0]!], owner: 'w' });
      world.kube.remove('NodeClaim', { name: 'a' });
      world.clock.now += 10 * 60_000;
      await world.synced();

      const next = await activities.taintCandidates({ reason: 'Empty', candidates: [both[1]!], owner: 'x' });

      expect(next).toMatchObject({ tainted: [], nextCheckAt: world.clock.now + 50 * 60_000 });
    });

    // 500 expirations in a closed window, and one broken node of another NodePool and of the same.
    test('however many wait, a broken node is repaired at once (budgets/urgent-first)', async () => {
      const spec = { maintenanceWindows: [{ name: 'night', schedule: '0 3 * * *', duration: '1h' }] };
      const policy = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name: 'slow' }, spec };
      world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
      for (let n = 0; n < 500; n++) putNode(`n${n}`);
      await world.synced();
      for (let n = 0; n < 500; n++) {
        const candidates = [{ claim: { name: `n${n}`, uid: `uid-n${n}` }, node: `node-n${n}` }];
        const wait = { workflow: `test/expire/uid-n${n}`, reason: 'Expired', for: 'Budget', why: 'shut', since: n };
        const text = { [annotations.disruptionWait]: JSON.stringify(wait) };
        await world.kube.patch('NodeClaim', { name: candidates[0]!.claim.name }, { metadata: { annotations: text } });
      }
      await world.synced();
      const expired = await activities.taintCandidates({ reason: 'Expired', candidates: [both[0]!], owner: 'x' });
      expect(expired).toMatchObject({ tainted: [], nextCheckAt: Date.parse('2026-01-06T03:00:00Z') });

      const { tainted } = await activities.taintCandidates({ reason: 'Unhealthy', candidates: [both[1]!], owner: 'w' });

      expect(tainted).toEqual(['uid-b']);
    });

    test('while the cache is behind the API server nothing is tainted, and the activity is retried', async () => {
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

  test('a tainted node counts against budgets, whether disrupt remembers it or not', async () => {
    await activities.taintCandidates({ reason: 'Empty', candidates: await candidates(), owner: 'w' });
    await world.synced();
    const { counts } = await disruptionContext(world.deps, nothing);
    expect([...counts.values()]).toMatchObject([{ disrupting: 1 }]);
  });

  test("validation does not count the command's own taints", async () => {
    const found = await candidates();
    await activities.taintCandidates({ reason: 'Empty', candidates: found, owner: 'w' });
    await world.synced();

    const { valid } = await activities.validateCandidates({ reason: 'Empty', candidates: found });

    expect(valid).toEqual(found);
  });

  test.each(['Drifted', 'Expired', 'Unhealthy'])(
    'a candidate that was to be replaced (%s) is untainted likewise',
    async (reason) => {
      await activities.taintCandidates({
        reason,
        candidates: [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b' }],
      });
      await world.synced();

      await expect(removeLeftOvers(world.deps, { commands: [] })).resolves.toMatchObject({
        released: ['node-b'],
      });
    },
  );
});
