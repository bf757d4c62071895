import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { timeText } from '../../core/time.js';
import { disruptionPolicies } from '../../api/stowage/disruption-policy.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { Condition } from '../../api/kubernetes.js';
import { annotations, labels, taints } from '../../api/labels.js';
import type { Candidate, OpenQuestion, Pause, Refused } from '../../workflows/messages.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import type { DisruptionActivities, DisruptionsFound } from './contract.js';
import type { DisruptionView } from '../disruption-context/contract.js';
import type { DisruptionCommand } from '../../disruption/command.js';
import { createDisruptionActivities } from './disruption.js';
import { explainNode } from '../people/explanations.js';
import { createPauseActivities } from '../people/pauses.js';
import { concurrentCommands } from '../consolidation/concurrent-commands.js';
import { fullName } from '../../core/names.js';

const nothing: DisruptionView = { commands: [] };

/** What Kubernetes says of disruptions, and what `disrupt` knows. */
interface State extends Partial<DisruptionView> {
  readonly pauses?: readonly Pause[];
  readonly questions?: readonly OpenQuestion[];
  readonly refused?: readonly Refused[];
}

// Nodes of 4 CPUs on demand in a zone where they cost 0.2 an hour; a spot node there costs 0.06.
describe('findDisruptions', () => {
  let world: ActivityWorld;
  let activities: DisruptionActivities;

  beforeEach(async () => {
    world = await createActivityWorld();
    activities = createDisruptionActivities(world.deps);
    putPool({});
    world.kube.put('EC2NodeClass', nodeClass('default'));
    await world.synced();
  });
  afterEach(() => world.stop());

  function putPool(disruption: object, name = 'default'): void {
    const spec = { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }], ...disruption } };
    const { metadata, ...pool } = ready(nodePool(name, spec));
    world.kube.put('NodePool', { ...pool, metadata: { ...metadata, labels: { pool: name } } });
  }

  function putPolicy(spec: object): void {
    const policy = {
      apiVersion: 'stowage.dev/v1alpha1',
      kind: 'DisruptionPolicy',
      metadata: { name: 'careful' },
      spec,
    };
    world.kube.put('DisruptionPolicy', disruptionPolicies.mustParse(policy));
  }

  const at = (secondsAgo: number): string => new Date(world.clock.now - secondsAgo * 1000).toISOString();

  /** A node with pods of this many CPUs. */
  function putNode(
    name: string,
    cpus: readonly number[],
    conditions: readonly Condition[] = [],
    pool = 'default',
  ): void {
    const initialized: Condition = { type: 'Initialized', status: 'True', lastTransitionTime: at(600) };
    const own = nodeClaim(name, {
      status: { providerID: `fake:///a/i-${name}`, conditions: [initialized, ...conditions] },
    });
    const typeLabels = {
      [labels.nodePool]: pool,
      [labels.instanceType]: 'm5.xlarge',
      [labels.zone]: 'a',
      [labels.capacityType]: 'on-demand',
      [labels.arch]: 'amd64',
      [labels.os]: 'linux',
      [labels.registered]: 'true',
      [labels.initialized]: 'true',
    };
    world.kube.put('NodeClaim', { ...own, metadata: { ...own.metadata, labels: typeLabels } });
    world.kube.put('Node', {
      metadata: { name: `node-${name}`, labels: typeLabels },
      spec: { providerID: `fake:///a/i-${name}` },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        allocatable: { cpu: '3900m', memory: '15Gi', pods: '58' },
        capacity: { cpu: '4', memory: '16Gi', pods: '58' },
      },
    });
    cpus.forEach((cpu, i) => {
      world.kube.put('Pod', {
        metadata: { name: `${name}-${i}`, namespace: 'default', ownerReferences: [] },
        spec: {
          nodeName: `node-${name}`,
          containers: [{ name: 'app', resources: { requests: { cpu: String(cpu), memory: '1Gi' } } }],
        },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      } as never);
    });
  }

  const arrangePauses = async (pauses: NonNullable<State['pauses']>): Promise<void> => {
    for (const { metadata } of world.kube.objects('DisruptionPause'))
      world.kube.remove('DisruptionPause', { name: metadata.name ?? '' });
    const pauseActivities = createPauseActivities(world.deps);
    const pools = new Set(world.kube.objects('NodePool').map(({ metadata }) => metadata.name));
    for (const pause of pauses) {
      if (pause.scope.kind !== 'nodePool' || pools.has(pause.scope.name)) await pauseActivities.writePause(pause);
    }
  };
  /** Sets or removes an annotation, if that changes the object. */
  const annotate = (kind: 'NodeClaim' | 'NodePool', key: string, textOf: (uid: string) => string | undefined): void => {
    for (const object of world.kube.objects(kind)) {
      const { metadata } = object;
      const text = textOf(metadata.uid ?? '');
      const { [key]: before, ...others } = metadata.annotations ?? {};
      if (before === text) continue;
      const next = text === undefined ? others : { ...others, [key]: text };
      world.kube.put(kind, { ...object, metadata: { ...metadata, annotations: next } });
    }
  };
  /** Writes what Kubernetes has of it; gives the rest. */
  const arranged = async ({ pauses = [], questions = [], refused = [], ...view }: State): Promise<DisruptionView> => {
    await arrangePauses(pauses);
    const waits = new Map(
      questions.flatMap(({ workflowId: workflow, reason, candidates, since, saves, isApproved }) =>
        candidates.map(({ claim }) => [
          claim.uid,
          JSON.stringify({ workflow, reason, for: isApproved === true ? 'Budget' : 'Approval', why: '', since, saves }),
        ]),
      ),
    );
    annotate('NodeClaim', annotations.disruptionWait, (uid) => waits.get(uid));
    const records = refused.length === 0 ? undefined : JSON.stringify({ refused });
    annotate('NodePool', annotations.disruptionRecords, () => records);
    await world.synced();
    const asked = questions.map((question) => ({ ...question, asks: true }));
    return { ...nothing, ...view, commands: [...(view.commands ?? []), ...asked] };
  };
  const find = async (state: State = {}): Promise<DisruptionsFound> =>
    activities.findDisruptions(await arranged(state));
  const goingNodes = ({ commands }: DisruptionsFound): string[] =>
    commands.flatMap(({ candidates }) => candidates.map(({ node }) => node)).sort();

  test('two on-demand nodes are replaced by a cheaper spot one, with a record of pod moves', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const counted: unknown[] = [];
    Object.assign(world.deps.metrics, { count: (...call: unknown[]) => void counted.push(call) });

    const found = await find();

    const [command] = found.commands;
    const own = { decision: 'replace', reason: 'underutilized', consolidation_type: command?.decision?.method };
    expect(counted).toEqual([
      ['voluntary_disruption_decisions_total', own],
      ['voluntary_disruption_decisions_by_nodepool_total', { ...own, nodepool: 'default' }],
    ]);
    expect(command?.reason).toBe('Underutilized');
    expect(command?.decision).toMatchObject({ decision: 'replace' });
    expect(command?.decision?.podCount).toBeGreaterThan(0);
    expect(found.again).toBe(true);
    expect(found.details?.decisions[0]?.then).toBe('carried out');
  });

  test('commands say whether pods are steered to their targets', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const [on] = (await find()).commands;
    expect(on?.decision?.steers).toBe(true);

    Object.assign(world.deps, { steerPods: false });
    activities = createDisruptionActivities(world.deps);
    const [off] = (await find()).commands;
    expect(off?.decision?.podCount).toBeGreaterThan(0);
    expect(off?.decision).not.toHaveProperty('steers');
  });

  // Rules `consolidation/room-of-pending-pods`, `provisioning/nominated-nodes`, `provisioning/refused-pods`.
  describe('an empty node with room for unplaced pods', () => {
    const waits = (name: string, status: object): unknown =>
      world.kube.put('Pod', {
        metadata: { name, namespace: 'default', ownerReferences: [], creationTimestamp: at(20) },
        spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] },
        status: { phase: 'Pending', ...status },
      });
    const unschedulable = { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] };

    test.each<[string, object]>([
      ['that kube-scheduler finds unschedulable', unschedulable],
      ['that kube-scheduler has not looked at', {}],
    ])('%s is no candidate for ten minutes without changes', async (_, status) => {
      putNode('a', []);
      waits('late', status);

      expect(goingNodes(await find())).toEqual([]);
      world.clock.now += 9 * 60_000;
      expect(goingNodes(await find())).toEqual([]);
      world.clock.now += 60_000;
      expect(goingNodes(await find())).toEqual(['node-a']);
    });

    test('is no candidate whether all of these pods fit or not', async () => {
      putNode('a', []);
      for (let i = 0; i < 500; i++) waits(`late-${i}`, unschedulable);
      expect(goingNodes(await find())).toEqual([]);
    });

    test('takes no pods of other nodes in place of these', async () => {
      putNode('a', []);
      putNode('b', [1]);
      for (let i = 0; i < 500; i++) waits(`late-${i}`, unschedulable);
      expect(goingNodes(await find())).toEqual([]);
    });
  });

  describe('a node launched for a pod of a draining node', () => {
    const drains = (own: readonly object[]): void => {
      const node = world.kube.objects('Node').find((one) => one.metadata.name === 'node-b')!;
      world.kube.put('Node', { ...node, spec: { ...node.spec, taints: own } } as never);
    };

    beforeEach(async () => {
      putNode('a', []);
      putNode('b', [1]);
      const typeLabels = (await world.kube.get('NodeClaim', { name: 'a' }))!.metadata.labels!;
      const { metadata, ...claim } = nodeClaim('a', {
        status: {
          ...{ providerID: 'fake:///a/i-a' },
          conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: at(600) }],
        },
      });
      const planned = { [annotations.plannedPods]: 'default/gone,default/b-0' };
      const own = { ...metadata, labels: typeLabels, annotations: planned };
      world.kube.put('NodeClaim', { ...claim, metadata: own });
      drains([taints.disrupted]);
    });

    test('is no candidate as long as that pod exists', async () => {
      expect(goingNodes(await find())).not.toContain('node-a');
      drains([]);
      expect(goingNodes(await find())).toContain('node-a');
    });

    test('does not keep other nodes from being consolidated, however long the drain takes', async () => {
      putNode('c', [0.1]);
      const { uid = '' } = (await world.kube.get('NodeClaim', { name: 'b' }))!.metadata;
      const drained = { claim: { name: 'b', uid }, node: 'node-b', nodePool: 'default' };
      const running = [
        { workflowId: 'w', reason: 'Underutilized' as const, candidates: [drained], since: world.clock.now },
      ];

      expect(goingNodes(await find({ commands: running }))).toEqual(['node-c']);
    });
  });

  test('a node to which a pod is nominated is no candidate, however old it is', async () => {
    putNode('a', []);
    world.kube.put('Pod', {
      metadata: { name: 'comes', namespace: 'default', ownerReferences: [] },
      spec: { containers: [{ name: 'app' }] },
      status: {
        phase: 'Pending',
        nominatedNodeName: 'node-a',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
      },
    } as never);

    expect(goingNodes(await find())).toEqual([]);
    world.kube.remove('Pod', { name: 'comes', namespace: 'default' });
    expect(goingNodes(await find())).toEqual(['node-a']);
  });

  test('a command that waited for a budget needs no second time of stability', async () => {
    for (const name of ['a', 'b']) putNode(name, [0.1]);
    putPool({ budgets: [{ nodes: '1' }], consolidationPolicy: 'WhenEmptyOrUnderutilized' });
    const [first] = (await find()).commands;
    expect(first?.validationMs).toBe(15_000);
    const [going] = first!.candidates;
    const running = [
      { workflowId: 'w', reason: 'Underutilized' as const, candidates: [going!], since: world.clock.now },
    ];

    world.clock.now += 9000;
    expect((await find({ commands: running })).commands).toEqual([]);
    world.clock.now += 1000;
    world.kube.remove('Node', { name: going!.node });
    world.kube.remove('NodeClaim', { name: going!.claim.name });
    world.clock.now += 300_000;
    const [next] = (await find()).commands;

    expect(next?.candidates[0]?.node).not.toBe(going!.node);
    expect(next?.validationMs).toBe(0);
  });

  /** Pods of the node came or went so many seconds ago. */
  async function touch(name: string, secondsAgo: number): Promise<void> {
    const { metadata, ...claim } = (await world.kube.get('NodeClaim', { name }))!;
    const status = { ...claim.status, lastPodEventTime: at(secondsAgo) };
    world.kube.put('NodeClaim', { ...claim, metadata, status });
  }

  test('a command that became worthwhile while others ran has its time of stability when its turn comes', async () => {
    for (const name of ['a', 'b']) putNode(name, [2]);
    putPool({ budgets: [{ nodes: '1' }] });
    const [first] = (await find()).commands;
    const [going] = first!.candidates;
    const running = [
      { workflowId: 'w', reason: 'Underutilized' as const, candidates: [going!], since: world.clock.now },
    ];
    world.clock.now += 300_000;
    putNode('c', [1]);
    const found = await find({ commands: running });
    expect(found.commands).toEqual([]);
    expect(found.held).toMatchObject([{ nodePool: 'default' }]);
    expect(found.details?.stays.flatMap(({ nodes }) => nodes)).toContain('node-c');

    world.kube.remove('Node', { name: going!.node });
    world.kube.remove('NodeClaim', { name: going!.claim.name });
    world.clock.now += 15_000;
    const [next] = (await find()).commands;
    expect(next?.candidates[0]?.node).not.toBe(going!.node);
    expect(next?.validationMs).toBe(0);
  });

  test('nodes that are consolidatable soon are planned for, and have their time of stability by then', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPool({ consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
    await touch('a', 15);
    await touch('b', 15);
    expect((await find()).commands).toEqual([]);
    // No node waits for others yet, however long ago they were first planned with.
    world.clock.now += 10_000;
    await touch('b', 19);
    expect(await find()).toMatchObject({ commands: [], nextCheckAt: world.clock.now + 5000 });

    world.clock.now += 6000;
    // Alone it could go now; both go together, with all of the same five seconds.
    const full = Math.ceil((world.clock.now + 5000) / 5000) * 5000;
    expect(await find()).toMatchObject({ commands: [], nextCheckAt: full });
    world.clock.now += 5000;
    const [command] = (await find()).commands;
    expect(command?.candidates.map(({ node }) => node).sort()).toEqual(['node-a', 'node-b']);
    expect(command?.validationMs).toBeLessThanOrEqual(1000);
  });

  test('nodes that are consolidatable soon are not searched while another node comes up, and are once one may go', async () => {
    for (const name of ['a', 'b']) putNode(name, [1]);
    putPool({ consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
    for (const name of ['a', 'b']) await touch(name, 15);
    world.kube.put('NodeClaim', nodeClaim('coming', { status: { providerID: 'fake:///a/i-coming' } }));
    world.kube.put('Pod', {
      metadata: { name: 'waiting', namespace: 'default', creationTimestamp: at(20) },
      spec: { containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }] },
      status: { phase: 'Pending' },
    });
    const searches = jest.spyOn(world.deps.packer, 'consolidate');
    const rooms = jest.spyOn(world.deps.packer, 'waitingRooms');
    expect(await find()).toMatchObject({ commands: [], nextCheckAt: world.clock.now + 15_000 });
    expect([searches, rooms].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);

    world.clock.now += 15_000;
    await find();
    expect([searches, rooms].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  });

  test('a node whose consolidateAfter passed waits for one that lost pods, and both go in one command', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPool({ consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
    await touch('a', 60);
    await touch('b', 5);
    const first = await find();
    expect(first.commands).toEqual([]);
    // A node that nothing protects and no command removes says for what it waits, and since when; until then always the same.
    const why = `nothing blocks it, and removing it saves something; it waits for node-b to become consolidatable, to go together, from ${timeText(world.clock.now + 25_000)} on (waits since ${timeText(world.clock.now)})`;
    const waits = [{ verdict: 'may go', why, nodes: ['node-a', 'node-b'] }];
    expect(first.details?.waits).toEqual(waits);
    world.clock.now += 5000;
    expect((await find()).details?.waits).toEqual(waits);
    world.clock.now += 20_000;
    const later = await find();
    expect(goingNodes(later)).toEqual(['node-a', 'node-b']);
    expect(later.details?.waits).toBeUndefined();
  });

  /** Two nodes, of which `a` may go for the room on `b`. */
  async function oneToStay(): Promise<void> {
    putNode('a', [1]);
    putNode('b', [2]);
    putPool({ consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
    const { metadata, ...node } = (await world.kube.get('Node', { name: 'node-b' }))!;
    const stays: Record<string, string> = { ...(metadata.annotations as object), [annotations.doNotDisrupt]: 'true' };
    world.kube.put('Node', { ...node, metadata: { ...metadata, annotations: stays } });
    await touch('a', 60);
  }

  test('a command waits for its target nodes to take pods, if it is not valid without them (consolidation/consolidate-after)', async () => {
    await oneToStay();
    await touch('b', 5);

    const first = await find();
    expect(first.commands).toEqual([]);
    const why = `nothing blocks it, and removing it saves something; it waits for node-b to take its pods, after consolidateAfter, from ${timeText(world.clock.now + 25_000)} on (waits since ${timeText(world.clock.now)})`;
    expect(first.details?.waits).toEqual([{ verdict: 'may go', why, nodes: ['node-a'] }]);

    world.clock.now += 24_000;
    expect((await find()).commands).toEqual([]);
    world.clock.now += 1000;
    const [command] = (await find()).commands;
    expect(command).toMatchObject({
      ...{ candidates: [{ node: 'node-a' }], decision: { replacements: [] }, validationMs: 0 },
    });
  });

  test('a command begins if its targets take pods when it is validated', async () => {
    await oneToStay();
    await touch('b', 20);

    expect((await find()).commands).toMatchObject([{ candidates: [{ node: 'node-a' }], validationMs: 15_000 }]);
  });

  test('a command does not wait for ever for nodes that are always about to be consolidatable', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPool({ consolidateAfter: '30s', budgets: [{ nodes: '100%' }] });
    await touch('a', 60);
    await touch('b', 20);
    expect((await find()).commands).toEqual([]);
    for (let seconds = 0; seconds < 45; seconds += 5) {
      world.clock.now += 5000;
      await touch('b', 20);
      if (seconds < 40) expect((await find()).commands).toEqual([]);
    }
    expect(goingNodes(await find())).toEqual(['node-a']);
  });

  test('pods are not moved to an empty node that is about to be removed', async () => {
    putNode('a', [1]);
    putNode('b', []);
    const initialized: Condition = { type: 'Initialized', status: 'True', lastTransitionTime: at(600) };
    const lately = nodeClaim('b', {
      status: { providerID: 'fake:///a/i-b', conditions: [initialized], lastPodEventTime: at(7) },
    });
    const own = (await world.kube.get('NodeClaim', { name: 'b' }))!.metadata.labels!;
    world.kube.put('NodeClaim', { ...lately, metadata: { ...lately.metadata, labels: own } });
    putPool({ consolidateAfter: '10s', budgets: [{ nodes: '100%' }] });

    const found = await find();
    expect(found.commands.flatMap(({ decision }) => decision?.moves.map(({ to }) => to))).toEqual(['replacement-0-0']);
    expect(found.nextCheckAt).toBe(world.clock.now + 3000);
    world.clock.now += 3000;
    const [command] = (await find()).commands;
    expect(command).toMatchObject({ reason: 'Empty', candidates: [{ node: 'node-b' }] });
  });

  test('a command that would move pods to a node that became empty is abandoned', async () => {
    putNode('a', [1]);
    putNode('b', [0.1]);
    const stays = { metadata: { name: 'b-0', namespace: 'default' } };
    const pod = (await world.kube.get('Pod', stays.metadata))!;
    world.kube.put('Pod', {
      ...pod,
      metadata: { ...pod.metadata, annotations: { [annotations.doNotDisrupt]: 'true' } },
    });
    const [command] = (await find()).commands as [DisruptionCommand];
    expect(command.candidates.map(({ node }) => node)).toEqual(['node-a']);
    const validate = async (): ReturnType<DisruptionActivities['validateCandidates']> =>
      activities.validateCandidates(command);
    expect((await validate()).valid).toHaveLength(1);

    world.kube.remove('Pod', stays.metadata);
    const { metadata, ...own } = (await world.kube.get('NodeClaim', { name: 'b' }))!;
    world.kube.put('NodeClaim', { ...own, metadata, status: { ...own.status, lastPodEventTime: at(1) } });
    putPool({ consolidateAfter: '10s', budgets: [{ nodes: '100%' }] });
    await world.synced();

    expect(await validate()).toMatchObject({ valid: [], dropped: [{ node: 'node-a' }] });
  });

  test('a node that backs off is considered again as soon as its back-off is over', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const keptUntil = world.clock.now + 15_000;
    const memory = ['node-a', 'node-b'].map((node) => ({
      node,
      nodePool: 'default',
      at: world.clock.now,
      failures: 1,
      keptUntil,
      why: 'abandoned: pods were bound to it',
    }));

    const found = await find({ memory });

    expect(goingNodes(found)).toEqual([]);
    expect(found.nextCheckAt).toBe(keptUntil);
    world.clock.now = keptUntil;
    expect(goingNodes(await find({ memory }))).not.toEqual([]);
  });

  test('nodes are not replaced by more nodes, nor pods moved, for a small saving', async () => {
    putNode('a', [2]);
    const { packer } = world.deps;
    const asked: object[] = [];
    const consolidate = packer.consolidate.bind(packer);
    packer.consolidate = async (input) => {
      asked.push(input);
      return consolidate(input);
    };
    const memory = [
      { node: 'node-a', nodePool: 'default', at: world.clock.now, depth: 1 },
      { node: 'node-b', nodePool: 'default', at: world.clock.now, failures: 1 },
    ];
    putNode('b', [2]);
    await find({ memory });
    const movedTo = new Set(['node-a']);
    expect(asked).toMatchObject([{ leastSplitShare: 0.2, leastAgainShare: 0.15, disruptionWeight: 0.05, movedTo }]);
  });

  // Rule `consolidation/when-it-searches`.
  test('the search is skipped for five minutes, or until something changes', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPool({ budgets: [{ nodes: '100%' }], consolidationPolicy: 'WhenEmpty' });
    const first = await find();
    expect(first.commands).toEqual([]);
    let searches = 0;
    const { packer } = world.deps;
    const consolidate = packer.consolidate.bind(packer);
    packer.consolidate = async (input) => {
      searches += 1;
      return consolidate(input);
    };

    const second = await find();
    expect(searches).toBe(0);
    expect(second.nextCheckAt).toBe(world.clock.now + 300_000);

    world.clock.now += 300_000;
    await find();
    expect(searches).toBe(1);
    world.kube.put('Pod', {
      metadata: { name: 'new', namespace: 'default' },
      spec: { nodeName: 'other', containers: [] },
    });
    await find();
    expect(searches).toBe(2);
  });

  test('pods may move to a node without a NodePool', async () => {
    putNode('a', [1]);
    world.kube.put('Node', {
      metadata: { name: 'foreign', labels: { [labels.zone]: 'a', [labels.arch]: 'amd64', [labels.os]: 'linux' } },
      spec: {},
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        allocatable: { cpu: '3900m', memory: '15Gi', pods: '58' },
        capacity: { cpu: '4', memory: '16Gi', pods: '58' },
      },
    });
    const [command] = (await find()).commands;
    expect(command?.decision).toMatchObject({ decision: 'delete', moves: [{ pod: 'default/a-0', to: 'foreign' }] });
  });

  // What is read and what is counted are not read in the same moment.
  test('a change during a look is seen by the next one', async () => {
    putPool({ consolidationPolicy: 'WhenEmpty' });
    putNode('a', [2]);
    putNode('b', [1]);
    const drifted: Condition = {
      type: 'Drifted',
      status: 'True',
      reason: 'NodePoolDrifted',
      lastTransitionTime: at(60),
    };
    putNode('stuck', [64], [drifted]);
    const { packer } = world.deps;
    const plan = packer.plan.bind(packer);
    packer.plan = async (input) => {
      putPool({ consolidationPolicy: 'WhenEmptyOrUnderutilized' });
      await world.synced();
      return plan(input);
    };

    expect(goingNodes(await find())).toEqual([]);
    expect(goingNodes(await find())).toEqual(['node-a', 'node-b']);
  });

  test('a NodePool without instance types for a moment is looked at again soon, not after five minutes', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const { cloud } = world.deps;
    const instanceTypes = cloud.instanceTypes.bind(cloud);
    cloud.instanceTypes = () => Promise.reject(new Error('RequestLimitExceeded'));
    const first = await find();
    expect(goingNodes(first)).toEqual([]);
    expect(first.held).toContainEqual({ nodePool: 'default', why: 'its instance types cannot be read now' });
    expect(first.nextCheckAt).toBe(world.clock.now + 15_000);

    cloud.instanceTypes = instanceTypes;
    expect(goingNodes(await find())).toEqual(['node-a', 'node-b']);
  });

  test('an unreachable API server stops the look, with the reason', async () => {
    putNode('a', [2]);
    const away = 'the API server cannot be reached: nothing is disrupted until it answers';
    expect((await find()).held).not.toContainEqual({ nodePool: 'all', why: away });
    Object.defineProperty(world.deps.cache, 'connected', { get: () => false });
    expect((await find()).held).toContainEqual({ nodePool: 'all', why: away });
    Object.defineProperty(world.deps.cache, 'synced', { get: () => false });
    expect((await find()).held).toEqual([{ nodePool: 'all', why: 'the cluster has not been read yet' }]);
  });

  test('price and lower bound of the running pods are reported without computing them at each look (surfaces/least-possible)', async () => {
    putNode('a', [1]);
    const { packer } = world.deps;
    const leastPossible = packer.leastPossible.bind(packer);
    let asked = 0;
    packer.leastPossible = (input) => {
      asked += 1;
      return leastPossible(input);
    };
    const outcome = async (): Promise<unknown> => {
      const { details } = await find();
      return [details?.capacity, details?.leastPossiblePerHour];
    };
    const prices = { pricePerHour: 0.2, leastPossiblePerHour: 0.06 };
    expect(await outcome()).toEqual([[{ nodePool: 'default', nodes: 1, ...prices }], 0.06]);
    await outcome();
    expect(asked).toBe(1);

    putNode('b', [3]);
    const found = await find();
    expect([asked, found.nextCheckAt]).toEqual([1, world.clock.now + 15_000]);
    world.clock.now += 15_000;
    expect(await outcome()).toEqual([
      [{ nodePool: 'default', nodes: 2, pricePerHour: 0.4, leastPossiblePerHour: 0.061538 }],
      0.061538,
    ]);

    putNode('c', [3]);
    world.clock.now += 15_000;
    packer.leastPossible = () => Promise.reject(new Error('the thread died'));
    expect(await outcome()).toEqual([[{ nodePool: 'default', nodes: 3, pricePerHour: 0.6 }], undefined]);
  });

  test('a pause that was replaced by another one no longer counts', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const pause = (name: string): Pause => ({
      scope: { kind: 'nodePool', name },
      reason: 'release',
      actor: 'ann',
    });
    expect(goingNodes(await find({ pauses: [pause('default')] }))).toEqual([]);
    expect(goingNodes(await find({ pauses: [pause('other')] }))).toEqual(['node-a', 'node-b']);
  });

  test('a skipped search lasts for its own duration, not for that of the one before in the queue', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const { packer } = world.deps;
    const consolidate = packer.consolidate.bind(packer);
    packer.consolidate = async (input, options) => {
      world.clock.now += 60_000;
      options?.onBegin?.();
      const result = await consolidate({ ...input, kept: new Map(['node-a', 'node-b'].map((node) => [node, 'busy'])) });
      world.clock.now += 1000;
      return result;
    };
    const began = world.clock.now;
    await find();
    packer.consolidate = consolidate;
    world.clock.now = began + 61_000;
    world.kube.put('Pod', {
      metadata: { name: 'new', namespace: 'default' },
      spec: { nodeName: 'other', containers: [] },
    });

    expect(goingNodes(await find())).toEqual(['node-a', 'node-b']);
  });

  test('a search that was cut short is not skipped the next time', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    const { packer } = world.deps;
    const consolidate = packer.consolidate.bind(packer);
    packer.consolidate = async (input) => ({ ...(await consolidate(input)), commands: [], cutShort: true });
    expect(goingNodes(await find())).toEqual([]);
    packer.consolidate = consolidate;
    expect(goingNodes(await find())).toEqual(['node-a', 'node-b']);
  });

  test.each([
    ['a pause of its reason', { scope: { kind: 'reason', name: 'Underutilized' } }],
    ['a pause of the pool', { scope: { kind: 'nodePool', name: 'default' } }],
    ['a pause of the pool for its reason', { scope: { kind: 'nodePool', name: 'default', reason: 'Underutilized' } }],
  ] as const)('%s keeps nodes where they are', async (_name, pause) => {
    putNode('a', [2]);
    putNode('b', [1]);
    const found = await find({ pauses: [{ ...pause, reason: 'release', actor: 'ann' }] });
    expect(goingNodes(found)).toEqual([]);
    expect(found.details?.stays[0]?.why).toMatch(/is paused by ann: release$/);
  });

  // Rule `consolidation/when-it-searches`.
  test('a cache that is behind a signalled change causes another look within seconds', async () => {
    putNode('a', [1]);
    putNode('b', [4]);
    expect((await find()).nextCheckAt ?? Number.POSITIVE_INFINITY).toBeGreaterThan(world.clock.now + 60_000);
    world.deps.cache.isFresh = (kind) => Promise.resolve(kind !== 'NodeClaim');

    expect((await find()).nextCheckAt).toBe(world.clock.now + 5000);
  });

  test('the number of nodes that could be disrupted is reported, whatever blocks them', async () => {
    putNode('a', [1]);
    putNode('b', [1]);
    const pause = { scope: { kind: 'cluster' as const }, reason: 'release', actor: 'ann' };

    expect(await find({ pauses: [pause] })).toMatchObject({ commands: [], candidates: 2 });
  });

  // Rule `invariants/failures-are-contained`.
  test('reasons why nodes stay are cut to the size that is carried, whatever people wrote', async () => {
    for (let n = 0; n < 30; n++) putNode(`n${n}`, [1]);
    const pauses = Array.from({ length: 30 }, (_, n) => ({
      ...{ scope: { kind: 'node', name: `node-n${n}` } as const, reason: `${n} ${'x'.repeat(20_000)}`, actor: 'ann' },
    }));

    const { details } = await find({ pauses });

    expect(details?.stays.length).toBeGreaterThan(10);
    expect(JSON.stringify(details?.stays).length).toBeLessThan(60_000);
    expect(details?.stays[0]?.why).toMatch(/^node .* is paused .*characters\)$/);
  });

  test('consolidation looks again when a closed window opens', async () => {
    // The clock stands at noon.
    putPool({
      budgets: [{ nodes: '0', reasons: ['Underutilized'], schedule: '0 11 * * *', duration: '62m' }, { nodes: '100%' }],
    });
    putNode('a', [1]);
    putNode('b', [1]);

    const found = await find();

    expect(goingNodes(found)).toEqual([]);
    expect(found.nextCheckAt).toBe(world.clock.now + 2 * 60_000);
    world.clock.now += 2 * 60_000;
    expect(goingNodes(await find())).toEqual(['node-a', 'node-b']);
  });

  test('no more commands are returned than a payload holds', async () => {
    putNode('a', []);
    const uids = (count: number): readonly Candidate[] =>
      Array.from(
        { length: count },
        (_, i) => ({ claim: { name: `c${i}`, uid: `u${i}` }, node: `n${i}`, nodePool: 'x' }) as Candidate,
      );
    const running = (count: number): DisruptionView['commands'] => [
      { workflowId: 'w', reason: 'Empty', candidates: uids(count), since: world.clock.now },
    ];
    expect(goingNodes(await find({ commands: running(999) }))).toEqual(['node-a']);

    const found = await find({ commands: running(1000) });

    expect(goingNodes(found)).toEqual([]);
    expect(found.held).toEqual([
      { nodePool: 'all', why: '1000 nodes are already being removed; others wait until these are gone' },
    ]);
  });

  test('mode Recommend records commands and carries none out', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPolicy({ mode: 'Recommend' });

    const found = await find();

    expect(found.commands).toEqual([]);
    expect(found.details?.decisions[0]?.then).toBe('only recommended: DisruptionPolicy careful has mode Recommend');
    expect(world.events.map(({ reason }) => reason)).toContain('ConsolidationCandidate');
  });

  describe('a NodePool whose policy only recommends does not hold up others', () => {
    const drifted = (secondsAgo: number): Condition[] => [
      { type: 'Drifted', status: 'True', reason: 'NodePoolDrifted', lastTransitionTime: at(secondsAgo) },
    ];
    beforeEach(() => {
      putPool({}, 'watched');
      putPolicy({ mode: 'Recommend', nodePoolSelector: { matchLabels: { pool: 'watched' } } });
    });

    test.each<[string, () => void]>([
      [
        'empty nodes',
        () => {
          putNode('a', []);
          putNode('w', [], [], 'watched');
        },
      ],
      [
        'drifted nodes, of which the oldest is not to go',
        () => {
          putNode('a', [1], drifted(10));
          putNode('w', [1], drifted(1000), 'watched');
        },
      ],
      [
        'nodes of both that would be replaced together',
        () => {
          putNode('a', [1]);
          putNode('w', [1], [], 'watched');
        },
      ],
    ])('%s', async (_name, put) => {
      put();
      expect(goingNodes(await find())).toEqual(['node-a']);
    });

    // Rule `candidates/methods-in-order`.
    test('its recommendation is reported once nothing else is to be done', async () => {
      putNode('w', [], [], 'watched');
      putNode('v', [1], [], 'watched');

      const found = await find();

      expect(found.commands).toEqual([]);
      expect(found.details?.decisions.flatMap(({ nodes }) => nodes)).toEqual(['node-w', 'node-v']);
    });
  });

  test('a command carries what the policy requires of it', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPolicy({ approval: [{ reasons: ['Underutilized'], timeout: '2h', onTimeout: 'Approve' }] });

    const [command] = (await find()).commands;

    expect(command?.decision).toMatchObject({
      policy: 'careful',
      approval: { timeoutMs: 7_200_000, onTimeout: 'Approve' },
    });
  });

  test("a saving below the policy's minimum is none", async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPolicy({ savings: { minimumDollarsPerHour: '5' } });
    expect(goingNodes(await find())).toEqual([]);
  });

  describe('approvals and rejections by people', () => {
    const nodeA = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const refused = (more: Partial<Refused> = {}): Refused => ({
      reason: 'Empty',
      nodes: [nodeA],
      saves: 0.1,
      why: 'rejected by ann',
      at: world.clock.now,
      until: world.clock.now + 60_000,
      ...more,
    });
    const question = (more: Partial<OpenQuestion> = {}): OpenQuestion => ({
      workflowId: 'test/consolidate/1',
      reason: 'Underutilized',
      candidates: [nodeA],
      since: world.clock.now,
      saves: 1,
      ...more,
    });
    const asks = (reasons: readonly string[] = ['Underutilized']): void =>
      putPolicy({ approval: [{ reasons, timeout: '2h' }] });

    test('a NodePool without approval is not in one command with one that requires it (people/searched-separately)', async () => {
      putPool({}, 'asks');
      putPolicy({
        approval: [{ reasons: ['Underutilized'], timeout: '2h' }],
        nodePoolSelector: { matchLabels: { pool: 'asks' } },
      });
      putNode('a', [1]);
      putNode('w', [1], [], 'asks');

      const found = await find();
      expect(goingNodes(found)).toEqual(['node-a']);
      expect(found.commands[0]?.decision?.approval).toBeUndefined();

      const pause = { scope: { kind: 'node', name: 'node-a' } as const, reason: 'release', actor: 'ann' };
      const next = await find({ pauses: [pause] });
      expect(goingNodes(next)).toEqual(['node-w']);
      expect(next.commands[0]?.decision?.approval).toBeDefined();
    });

    test('a rejection holds for its reason alone', async () => {
      putNode('a', []);
      expect(goingNodes(await find({ refused: [refused()] }))).toEqual([]);
      expect(goingNodes(await find({ refused: [refused({ reason: 'Underutilized' })] }))).toEqual(['node-a']);
      expect(goingNodes(await find({ refused: [refused({ until: world.clock.now })] }))).toEqual(['node-a']);
    });

    test('an abandoned command backs off for its reason alone', async () => {
      putNode('a', []);
      const keptUntil = world.clock.now + 60_000;
      const rested = { node: 'node-a', nodePool: 'default', at: world.clock.now, keptUntil, why: 'failed: x' };
      expect(goingNodes(await find({ memory: [{ ...rested, reason: 'Drifted' }] }))).toEqual(['node-a']);
      expect(goingNodes(await find({ memory: [{ ...rested, reason: 'Empty' }] }))).toEqual([]);
    });

    test('a rejected command is proposed again when it saves twice as much', async () => {
      putNode('a', [2]);
      const [command] = (await find()).commands;
      const { priceBefore = 0, priceAfter = 0 } = command?.decision ?? {};
      const saves = priceBefore - priceAfter;
      const nodes = command?.candidates ?? [];
      const turnedDown = (saved: number): Refused[] => [
        refused({ reason: 'Underutilized', nodes, saves: saved, until: world.clock.now + 60_000 + saved }),
      ];

      expect(saves).toBeGreaterThan(0);
      const again = await find({ refused: turnedDown(saves) });
      expect(goingNodes(again).filter((node) => nodes.some((one) => one.node === node))).toEqual([]);
      expect(goingNodes(await find({ refused: turnedDown(saves / 3) })).length).toBeGreaterThan(0);
    });

    test('an open question is not asked twice, and no more are asked than budgets allow', async () => {
      putNode('a', []);
      putNode('b', []);
      putPool({ budgets: [{ nodes: '1' }] });
      asks(['Empty']);
      const first = await find();
      expect(goingNodes(first)).toHaveLength(1);
      const candidates = first.commands[0]!.candidates;
      expect(goingNodes(await find({ questions: [question({ reason: 'Empty', candidates })] }))).toEqual([]);
    });

    test('a question does not hold up commands without approval', async () => {
      putNode('a', [2]);
      putNode('b', []);
      putPool({ budgets: [{ nodes: '1' }] });
      asks();
      expect(goingNodes(await find({ questions: [question()] }))).toEqual(['node-b']);
    });

    const drifted = (): readonly Condition[] => [
      { type: 'Drifted', status: 'True', reason: 'NodePoolDrifted', lastTransitionTime: at(60) },
    ];
    test.each([
      ['drift needs no approval', ['Empty']],
      ['both ask', ['Empty', 'Drifted']],
    ])(
      'a question about an empty node does not keep it from drift: %s (people/drift-before-empty)',
      async (_name, reasons) => {
        putNode('a', []);
        asks(reasons);
        const asked = await find();
        expect(asked.commands).toMatchObject([{ reason: 'Empty' }]);
        putNode('a', [], drifted());
        const isEmptyAsked = [question({ reason: 'Empty', candidates: asked.commands[0]!.candidates })];

        // That question is withdrawn first.
        expect(await find({ questions: isEmptyAsked })).toMatchObject({
          ...{ commands: [], again: true },
          moot: [{ why: 'Drifted: decided anew', isSuperseded: true }],
        });
        // Once that question is withdrawn it is not asked again, before drift is under way or asks.
        expect((await find()).commands).toMatchObject([{ reason: 'Drifted' }]);
        const isDriftAsked = [question({ reason: 'Drifted', candidates: asked.commands[0]!.candidates })];
        expect((await find({ questions: isDriftAsked })).commands).toEqual([]);
      },
    );

    test('a drifted node that may not be replaced is asked about as empty', async () => {
      putNode('a', []);
      asks(['Empty', 'Drifted']);
      putNode('a', [], drifted());

      const found = await find({ refused: [refused({ reason: 'Drifted' })] });

      expect(found.commands).toMatchObject([{ reason: 'Empty' }]);
    });

    const causes: [string, () => void, string, Partial<OpenQuestion>][] = [
      ['its node is gone', () => world.kube.remove('NodeClaim', { name: 'a' }), 'node-a is gone', {}],
      [
        'its NodePool is gone',
        () => world.kube.remove('NodePool', { name: 'default' }),
        'NodePool default is gone',
        {},
      ],
      [
        'its policy is gone',
        () => world.kube.remove('DisruptionPolicy', { name: 'careful' }),
        'no DisruptionPolicy of NodePool default asks for approval any more',
        {},
      ],
      [
        'consolidateAfter is Never',
        () => putPool({ consolidateAfter: 'Never' }),
        'consolidateAfter is Never for NodePool default now',
        {},
      ],
      ['pods have come', () => undefined, 'pods were bound to node-a', { reason: 'Empty' }],
      ['it does not drift any more', () => undefined, 'node-a is not drifted any more', { reason: 'Drifted' }],
    ];
    test.each(causes)('a question ends when %s', async (_name, change, why, more) => {
      putNode('a', [2]);
      asks(['Underutilized', 'Empty', 'Drifted']);
      expect((await find({ questions: [question()] })).moot).toBeUndefined();
      change();
      const { moot } = await find({ questions: [question(more)] });
      expect(moot).toMatchObject([{ workflowId: 'test/consolidate/1', why }]);
    });

    test('a command that will ask is not withdrawn while it is validated', async () => {
      putNode('a', []);
      asks(['Empty']);
      const [command] = (await find()).commands;
      const { reason = 'Empty', candidates = [] } = command ?? {};
      const validated = { workflowId: 'test/consolidate/1', reason, candidates, since: 0, asks: true } as const;
      expect(candidates).toHaveLength(1);
      expect((await find({ commands: [validated] })).moot).toBeUndefined();
    });

    test('during a pause no question is asked, and approved commands wait for its end', async () => {
      putNode('a', [2]);
      asks(['Underutilized']);
      const pauses = [{ scope: { kind: 'cluster' }, reason: 'release', actor: 'ann' }] as const;
      const { moot } = await find({ questions: [question()], pauses });
      expect(moot).toMatchObject([{ why: 'the cluster is paused by ann: release' }]);
      expect((await find({ questions: [question({ isApproved: true })], pauses })).moot).toBeUndefined();
    });

    test('a question ends when its pods are gone, and the node is removed as Empty', async () => {
      putNode('a', []);
      asks();
      const found = await find({ questions: [question()] });
      expect(found.moot).toEqual([
        { workflowId: 'test/consolidate/1', why: 'the pods of node-a are gone: it is empty', isSuperseded: true },
      ]);
      expect((await find()).commands).toMatchObject([{ reason: 'Empty', candidates: [{ node: 'node-a' }] }]);
    });

    test('a question ends when a better command is found', async () => {
      putNode('a', [2]);
      asks();
      const [command] = (await find()).commands;
      const candidates = command?.candidates ?? [];
      const saves = (command?.decision?.priceBefore ?? 0) - (command?.decision?.priceAfter ?? 0);

      const same = await find({ questions: [question({ candidates, saves })] });
      const better = await find({
        questions: [question({ workflowId: 'test/consolidate/2', candidates, saves: saves / 2 })],
      });

      expect(same.moot).toBeUndefined();
      expect(better.moot).toMatchObject([{ why: expect.stringContaining('a better plan for'), isSuperseded: true }]);
    });
  });

  describe('why a node is not disrupted', () => {
    const whyNot = async (state: State = {}) => {
      await world.synced();
      return explainNode(world.deps, { node: 'node-a', view: await arranged(state) });
    };

    test('nothing blocks it, or it is unknown', async () => {
      putNode('a', [1]);
      expect(await whyNot()).toMatchObject({
        verdict: 'may go',
        why: 'nothing blocks it, and removing it saves something: the next search decides, and what saves most goes first',
      });
      world.kube.remove('NodeClaim', { name: 'a' });
      expect(await whyNot()).toMatchObject({ verdict: 'unknown' });
    });

    test('without a blocker the answer is what removing it would come to', async () => {
      putNode('a', [3]);
      const asSpot = { metadata: { labels: { [labels.capacityType]: 'spot' } } };
      await world.kube.patch('Node', { name: 'node-a' }, asSpot);
      await world.kube.patch('NodeClaim', { name: 'a' }, asSpot);
      const { verdict, why } = await whyNot();
      expect(verdict).toBe('stays');
      expect(why).toMatch(/^(a spot node is replaced by spot only with|there is no cheaper place for its pods)/);
    });

    test('all blockers are listed, each with its end', async () => {
      putNode('a', [1]);
      putPool({ budgets: [{ nodes: '0', schedule: '0 12 * * *', duration: '1h' }], consolidationPolicy: 'WhenEmpty' });
      putPolicy({ mode: 'Recommend', coolDown: '10m', maxMoveChain: 2 });
      const pauses = [{ scope: { kind: 'cluster' }, reason: 'release', actor: 'ann' }] as const;
      const memory = [{ node: 'node-a', nodePool: 'default', at: world.clock.now, depth: 2 }];

      const { verdict, why } = await whyNot({ pauses, memory });

      expect(verdict).toBe('stays');
      expect(why.split('; ')).toEqual([
        'the cluster is paused by ann: release',
        'DisruptionPolicy careful has mode Recommend',
        expect.stringMatching(
          /^budget 0 at "0 12 \* \* \*" for 1h allows no more for Underutilized until .*T13:00:00Z$/,
        ),
        'it is not empty, and its NodePool has consolidationPolicy: WhenEmpty',
        expect.stringMatching(/^pods were moved to it a while ago, and coolDown holds until /),
        'its pods were moved 2 times in a row within a day, and maxMoveChain is 2',
      ]);
    });

    test.each<[string, string | undefined, string]>([
      ['standalone', undefined, 'it has no NodePool label'],
      ['of a NodePool that is gone', 'gone', 'its NodePool does not exist'],
    ])('an initialized node that is %s stays for that reason alone', async (_what, nodePoolLabel, says) => {
      putNode('a', [1]);
      await world.kube.patch(
        'NodeClaim',
        { name: 'a' },
        { metadata: { labels: { [labels.nodePool]: nodePoolLabel ?? null } } },
      );
      expect(await whyNot()).toMatchObject({ verdict: 'stays', why: says });
    });

    test('the nodes that use up the budget are named, and what drift waits for', async () => {
      putNode('a', [1], [{ type: 'Drifted', status: 'True', lastTransitionTime: at(60) }]);
      putNode('b', [1]);
      putPool({ budgets: [{ nodes: '1' }] });
      const candidates = [{ claim: { name: 'b', uid: 'uid-b' }, node: 'node-b', nodePool: 'default' }];
      const running = [
        { workflowId: 'test/repair/1', reason: 'Unhealthy' as const, candidates, since: world.clock.now },
      ];
      const { why } = await whyNot({ commands: running });
      const holder = `(held by test/repair/1 since ${timeText(world.clock.now)})`;
      expect(why).toContain(`it has drifted, and waits: budget 1 allows no more for Drifted ${holder}`);
    });

    test('a drifted node whose policy only recommends is not said to be replaced', async () => {
      putNode('a', [1], [{ type: 'Drifted', status: 'True', lastTransitionTime: at(60) }]);
      putPolicy({ mode: 'Recommend' });
      const why = 'it has drifted: DisruptionPolicy careful has mode Recommend';
      expect(await whyNot()).toMatchObject({ verdict: 'stays', why });
    });

    test('a rejection is remembered for an empty node too, and a running command is named', async () => {
      putNode('a', []);
      const { now } = world.clock;
      const candidates = [{ claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' }];
      const refused = [
        { reason: 'Empty' as const, nodes: candidates, saves: 0, why: 'rejected by ann', at: now, until: now + 60_000 },
      ];
      expect((await whyNot({ refused })).why).toMatch(
        /^rejected by ann: not proposed again for Empty before .* \(stowage reconsider --node node-a undoes it\)$/,
      );
      const running = [{ workflowId: 'w', reason: 'Empty' as const, candidates, since: world.clock.now }];
      expect(await whyNot({ commands: running })).toMatchObject({ verdict: 'going', why: 'Empty: w' });
      const pauses = [{ scope: { kind: 'cluster' as const }, actor: 'ann', reason: 'release day' }];
      expect((await whyNot({ commands: running, pauses })).why).toMatch(
        /^Empty: w; the cluster is paused by ann.*: release day$/,
      );
    });
  });

  // Rules `surfaces/one-reason`, `events/of-nodes-not-disrupted`: `status` asks for `stays`, `why` for `explainNode`.
  describe('reporting nodes that could be disrupted and stay', () => {
    const outcome = (name: string): string[] =>
      world.events
        .filter(({ regarding }) => regarding.name === name)
        .map(({ regarding: { kind }, reason, message }) => `${kind} ${reason}: ${message}`);
    const whyNode = async (node: string): Promise<string> =>
      (await explainNode(world.deps, { node, view: nothing })).why;

    test('a blocker is the same text everywhere, and an event on node and NodeClaim', async () => {
      putNode('a', [3]);
      putNode('b', [3]);
      putPool({ budgets: [{ nodes: '0' }] });
      const { details } = await find();
      const why = 'budget 0 allows no more for Underutilized';
      expect(details?.stays).toEqual([{ why, nodes: ['node-a', 'node-b'] }]);
      expect(await whyNode('node-a')).toBe(why);
      expect(outcome('node-a')).toEqual([`Node DisruptionBlocked: Not disrupted: ${why}`]);
      expect(outcome('a')).toEqual([`NodeClaim DisruptionBlocked: Not disrupted: ${why}`]);
    });

    test('the result of removing the node is reported in the same way', async () => {
      putNode('a', [3]);
      const asSpot = { metadata: { labels: { [labels.capacityType]: 'spot' } } };
      await world.kube.patch('Node', { name: 'node-a' }, asSpot);
      await world.kube.patch('NodeClaim', { name: 'a' }, asSpot);
      const { details } = await find();
      const why = await whyNode('node-a');
      expect(details?.stays).toEqual([{ why, nodes: ['node-a'] }]);
      expect(outcome('node-a')).toEqual([`Node Unconsolidatable: Not disrupted: ${why}`]);
    });

    const nodeA = { claim: { name: 'a', uid: 'uid-a' }, node: 'node-a', nodePool: 'default' };
    const mark = async (more: object): Promise<void> => {
      const pod = (await world.kube.get('Pod', { namespace: 'default', name: 'a-0' }))!;
      world.kube.put('Pod', { ...pod, metadata: { ...pod.metadata, ...more } });
    };
    type Arranged = State;
    test.each<[string, () => Arranged | Promise<Arranged>, RegExp]>([
      [
        'a PodDisruptionBudget',
        async () => {
          await mark({ labels: { app: 'web' } });
          world.kube.put('PodDisruptionBudget', {
            metadata: { name: 'web', namespace: 'default' },
            spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
            status: { disruptionsAllowed: 0 },
          });
          return {};
        },
        /^PodDisruptionBudget default\/web forbids evicting pod default\/a-0$/,
      ],
      [
        'do-not-disrupt',
        async () => {
          await mark({ annotations: { [annotations.doNotDisrupt]: 'true' } });
          return {};
        },
        /^pod default\/a-0 is marked do-not-disrupt$/,
      ],
      [
        'a pause',
        () => ({
          pauses: [{ scope: { kind: 'nodePool', name: 'default' }, reason: 'release day', actor: 'ann' }],
        }),
        /^NodePool default is paused by ann: release day$/,
      ],
      [
        'a move of late',
        () => {
          putPolicy({ coolDown: '1h' });
          return { memory: [{ node: 'node-a', nodePool: 'default', at: world.clock.now, depth: 1 }] };
        },
        /^pods were moved to it a while ago, and coolDown holds until \S+Z$/,
      ],
      [
        'a question',
        () => {
          putPolicy({ approval: [{ timeout: '2h' }] });
          return {
            questions: [
              {
                ...{ workflowId: 'test/consolidate/1', reason: 'Underutilized', candidates: [nodeA], saves: 1 },
                since: world.clock.now,
              },
            ],
          };
        },
        /^test\/consolidate\/1 waits for approval of its disruption \(Underutilized\), decided at \S+Z$/,
      ],
      [
        'a question that was answered',
        () => {
          putPolicy({ approval: [{ timeout: '2h' }] });
          const command = { workflowId: 'test/consolidate/1', reason: 'Underutilized' as const, candidates: [nodeA] };
          return { questions: [{ ...command, saves: 1, since: world.clock.now, isApproved: true }] };
        },
        /^test\/consolidate\/1 waits for its turn after the approval of its disruption \(Underutilized\), decided at \S+Z$/,
      ],
      [
        'what its last decision ended for still holds, which is said once',
        async () => {
          await mark({ annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
          const why = 'withdrawn: node-a: pod default/a-0 is marked do-not-disrupt';
          const memory = { node: 'node-a', nodePool: 'default', at: world.clock.now, reason: 'Underutilized' as const };
          return { memory: [{ ...memory, why, keptUntil: world.clock.now + 60_000 }] };
        },
        /^pod default\/a-0 is marked do-not-disrupt; not tried again before \S+Z$/,
      ],
    ])('%s is reported in the same way', async (_what, arrange, says) => {
      putNode('a', [1]);
      await world.synced();
      const view = await arrange();
      await world.synced();
      const { details } = await find(view);
      const { verdict, why } = await explainNode(world.deps, { node: 'node-a', view: await arranged(view) });
      expect(why).toMatch(says);
      expect(verdict).toBe('stays');
      expect(details?.stays).toEqual([{ why, nodes: ['node-a'] }]);
      expect(outcome('node-a')).toEqual([`Node DisruptionBlocked: Not disrupted: ${why}`]);
    });

    test('a node that is disrupted, not yet consolidatable, or in turn for drift is not reported', async () => {
      putNode('a', [1]);
      expect(await find()).toMatchObject({ commands: [{}], details: { stays: [] } });
      putPool({ consolidateAfter: '1h' });
      expect((await find()).details?.stays).toEqual([]);
      putPool({ consolidateAfter: 'Never' });
      putNode('b', [1], [{ type: 'Drifted', status: 'True', lastTransitionTime: at(60) }]);
      putNode('c', [1], [{ type: 'Drifted', status: 'True', lastTransitionTime: at(30) }]);
      const found = await find();
      expect(goingNodes(found)).toEqual(['node-b']);
      expect(found.details?.stays).toEqual([]);
      expect(await explainNode(world.deps, { node: 'node-c', view: nothing })).toMatchObject({
        verdict: 'may go',
        why: 'it has drifted: it is replaced in its turn',
      });
      expect(outcome('node-c')).toEqual([]);
    });

    // Rule `consolidation/rolling-updates`.
    test.each([
      ['for long is said everywhere', 3600, true],
      ['for a moment is not', 60, false],
    ])('what keeps a node from being consolidatable %s', async (_what, secondsAgo, isSaid) => {
      putPool({ consolidateAfter: '60s' });
      putNode('a', [1], [{ type: 'Unsettled', status: 'True', lastTransitionTime: at(secondsAgo) }]);
      await world.kube.patch(
        'NodeClaim',
        { name: 'a' },
        { status: { lastPodEventTime: at(10) } },
        { subresource: 'status' },
      );
      await mark({
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true }],
        deletionTimestamp: at(10),
      });
      const { details } = await find();
      const why = await whyNode('node-a');
      expect(why).toMatch(/pods of StatefulSet default\/db came or left/);
      expect(details?.stays).toEqual(isSaid ? [{ why, nodes: ['node-a'] }] : []);
      expect(outcome('node-a')).toEqual(isSaid ? [`Node DisruptionBlocked: Not disrupted: ${why}`] : []);
    });

    test('as many as a payload holds are listed, the rest is counted', async () => {
      putPool({ budgets: [{ nodes: '0' }] });
      for (let n = 0; n < 260; n += 1) putNode(`n${n}`, [1]);
      const { details } = await find();
      expect(details?.stays.flatMap(({ nodes }) => nodes)).toHaveLength(250);
      expect(details?.staysMore).toBe(10);
    });
  });

  test('a node to which pods were moved has a cool-down; one with too long a chain of moves pauses its NodePool', async () => {
    putNode('a', [2]);
    putNode('b', [1]);
    putPolicy({ coolDown: '10m', maxMoveChain: 2 });
    const memory = ['node-a', 'node-b'].map((node) => ({ node, nodePool: 'default', at: world.clock.now, depth: 2 }));

    const cooling = await find({ memory });
    expect(goingNodes(cooling)).toEqual([]);
    expect(world.kube.objects('DisruptionPause')).toEqual([]);

    world.clock.now += 601_000;
    const chained = await find({ memory });
    expect(goingNodes(chained)).toEqual([]);
    expect(world.kube.objects('DisruptionPause').map(({ spec }) => spec)).toMatchObject([
      {
        scope: { kind: 'NodePool', name: 'default', reason: 'Underutilized' },
        message: expect.stringContaining('moved 2 times in a row'),
        requestedBy: 'stowage',
      },
    ]);
  });

  describe('drift in findDisruptions', () => {
    const drifted = (secondsAgo: number): Condition => ({
      type: 'Drifted',
      status: 'True',
      reason: 'NodePoolDrifted',
      lastTransitionTime: at(secondsAgo),
    });

    // Works whatever the consolidation policy (drift/whatever-the-policy).
    beforeEach(() => putPool({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' }));

    test('the oldest node goes first, with a replacement where its pods do not fit', async () => {
      putNode('a', [3], [drifted(60)]);
      putNode('b', [3], [drifted(600)]);

      const found = await find();

      expect(goingNodes(found)).toEqual(['node-b']);
      expect(found.commands[0]).toMatchObject({
        reason: 'Drifted',
        decision: { method: 'drift', decision: 'replace' },
      });
      expect(found.commands[0]?.decision?.replacements).toHaveLength(1);
    });

    test('a node without pods to move goes before older ones (drift/oldest-first)', async () => {
      putNode('a', [], [drifted(60)]);
      putNode('b', [3], [drifted(600)]);
      const found = await find();
      expect(goingNodes(found)).toEqual(['node-a']);
      expect(found.commands[0]?.decision?.decision).toBe('delete');
    });

    /** Gives a pod so many alternatives that a pass looks at few pods like it. */
    const withAlternatives = async (name: string, count: number): Promise<void> => {
      const other = Array.from({ length: count }, (_, n) => ({
        matchExpressions: [{ key: 'example.com/rack', operator: 'In' as const, values: [`${name}-${n}`] }],
      }));
      const zone = { matchExpressions: [{ key: labels.zone, operator: 'In' as const, values: ['a', 'b'] }] };
      const found = (await world.kube.get('Pod', { namespace: 'default', name }))!;
      const affinity = {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...other, zone] } },
      };
      world.kube.put('Pod', { ...found, spec: { ...found.spec, affinity } });
    };

    // Rule `candidates/unreadable-nodes`.
    describe('something unparsable', () => {
      beforeEach(() => {
        putNode('bad', [1], [drifted(900)]);
        putNode('b', [1], [drifted(60)]);
      });

      test('of a node keeps that node, which is named and counts as disrupting, and the next one is tried', async () => {
        const podsOnNode = world.deps.cache.podsOnNode.bind(world.deps.cache);
        const broken = (name: string) => podsOnNode(name).map((pod) => ({ ...pod, spec: undefined as never }));
        Object.assign(world.deps.cache, {
          podsOnNode: (name: string) => (name === 'node-bad' ? broken(name) : podsOnNode(name)),
        });

        const found = await find();

        expect(goingNodes(found)).toEqual(['node-b']);
        expect(found.held[0]?.why).toContain('Node node-bad cannot be read and is left alone');
        const outcome = world.events.filter(({ reason }) => reason === 'LeftOut');
        expect(outcome.map(({ regarding }) => [regarding.kind, regarding.name])).toEqual([['Node', 'node-bad']]);
        expect(found.details?.budgets.find(({ reason }) => reason === 'Drifted')).toMatchObject({
          total: 2,
          disrupting: 1,
        });
      });

      test('of a NodePool keeps its nodes, and other pools go on', async () => {
        putPool({}, 'broken');
        putNode('c', [1], [drifted(1000)], 'broken');
        await world.synced();
        const all = world.deps.cache.all.bind(world.deps.cache) as (kind: string) => readonly NodePool[];
        const pools = all('NodePool').map((pool) =>
          pool.metadata.name === 'broken' ? { ...pool, spec: { ...pool.spec, disruption: undefined as never } } : pool,
        );
        Object.assign(world.deps.cache, {
          all: (kind: string) => (kind === 'NodePool' ? pools : all(kind)),
        });

        const found = await find();

        expect(goingNodes(found)).toEqual(['node-bad']);
        expect(world.events.find(({ reason }) => reason === 'LeftOut')?.regarding).toMatchObject({
          kind: 'NodePool',
          name: 'broken',
        });
      });
    });

    // Rule `drift/every-pod-has-a-place`.
    test('every pod of the node has a place in the plan, those too that a pass would defer', async () => {
      putNode('a', [1, 1, 1], [drifted(600)]);
      for (const name of ['a-0', 'a-1', 'a-2']) await withAlternatives(name, 150);

      const found = await find();

      expect(goingNodes(found)).toEqual(['node-a']);
      const moves = found.commands[0]?.decision?.moves ?? [];
      expect(moves.map(({ pod }) => pod)).toEqual(['default/a-0', 'default/a-1', 'default/a-2']);
    });

    test('a node with a pod that planning defers stays, with that reason', async () => {
      putNode(
        'a',
        Array.from({ length: 30 }, () => 0.1),
        [drifted(600)],
      );
      for (let i = 0; i < 30; i++) await withAlternatives(`a-${i}`, 150);

      const found = await find();

      expect(found.commands).toEqual([]);
      expect(found.held[0]?.why).toContain('would have no place: planning has not reached it');
    });

    // Rules `events/of-a-disruption`, `drift/oldest-first`.
    test('pods that fit nowhere block the node, with an event, and the next one is tried', async () => {
      putNode('a', [64], [drifted(600)]);
      putNode('b', [1], [drifted(60)]);
      const found = await find();
      expect(goingNodes(found)).toEqual(['node-b']);
      const [blocked] = world.events.filter(({ reason }) => reason === 'DisruptionBlocked');
      expect(blocked?.regarding.name).toBe('node-a');
      const why = expect.stringMatching(/^it has drifted: pod default\/a-0 would have no place: /);
      expect(found.details?.stays).toEqual([{ why, nodes: ['node-a'] }]);
      expect(found.details?.waits).toEqual([{ verdict: 'stays', why, nodes: ['node-a'] }]);
      expect(blocked?.message).toBe(`Not disrupted: ${found.details?.stays[0]?.why}`);
    });

    describe('a node whose pods fit nowhere', () => {
      const isTried = async (): Promise<boolean> => goingNodes(await find()).includes('node-a');
      beforeEach(async () => {
        putNode('a', [64], [drifted(600)]);
        expect((await find()).details?.stays).toMatchObject([{ nodes: ['node-a'] }]);
        // What would give it a place, but for the search that waits.
        const { packer } = world.deps;
        const plan = packer.plan.bind(packer);
        packer.plan = (given) => {
          const pods = given.objects.pods.map((pod) => ({ ...pod, spec: { ...pod.spec, containers: [] } }));
          return plan({ ...given, objects: { ...given.objects, pods } });
        };
      });

      test('is not tried again for five minutes', async () => {
        world.clock.now += 299_000;
        expect(await isTried()).toBe(false);
        world.clock.now += 1000;
        expect(await isTried()).toBe(true);
      });

      test.each<[string, () => void]>([
        ['a NodePool changes', () => putPool({ budgets: [{ nodes: '100%' }] })],
        ['its pods do', () => world.kube.remove('Pod', { name: 'a-0', namespace: 'default' })],
      ])('is tried again as soon as %s', async (_, change) => {
        change();
        expect(await isTried()).toBe(true);
      });

      test('is reported only while it has drifted', async () => {
        putNode('a', [64]);
        expect((await find()).details?.waits).toBeUndefined();
      });
    });

    test('a node whose replacement failed backs off, and others go on', async () => {
      putNode('a', [1], [drifted(600)]);
      putNode('b', [1], [drifted(60)]);
      const keptUntil = world.clock.now + 60_000;
      const failed = { node: 'node-a', nodePool: 'default', at: world.clock.now, failures: 3, keptUntil };
      const memory = [{ ...failed, why: 'failed: no capacity' }];

      const found = await find({ memory });

      expect(goingNodes(found)).toEqual(['node-b']);
      expect(found.held[0]?.why).toContain('node-a has drifted: failed: no capacity; not tried again before');
      world.clock.now = keptUntil;
      expect(goingNodes(await find({ memory }))).toEqual(['node-a']);
    });

    test('a node with do-not-disrupt pods and a terminationGracePeriod is replaced for drift, not consolidated (candidates/drift-waives)', async () => {
      const protect = (name: string): void => {
        const pod = world.kube.objects('Pod').find(({ metadata }) => metadata.name === `${name}-0`)!;
        const metadata = { ...pod.metadata, annotations: { [annotations.doNotDisrupt]: 'true' } };
        world.kube.put('Pod', { ...pod, metadata });
      };
      const graced = (name: string): void => {
        const claim = world.kube.objects('NodeClaim').find(({ metadata }) => metadata.name === name)!;
        world.kube.put('NodeClaim', { ...claim, spec: { ...claim.spec, terminationGracePeriod: '1h' } });
      };
      putPool({});
      putNode('graced', [1], [drifted(60)]);
      putNode('waiting', [1], [drifted(600)]);
      protect('graced');
      protect('waiting');
      graced('graced');

      const found = await find();
      expect(goingNodes(found)).toEqual(['node-graced']);
      expect(found.commands[0]?.reason).toBe('Drifted');
      expect(found.held.map(({ why }) => why).join()).toContain(
        'node-waiting has drifted: pod default/waiting-0 is marked',
      );

      // Neither has drifted: both could go for one cheaper node, but for their pods.
      putNode('graced', [1]);
      putNode('waiting', [1]);
      protect('graced');
      protect('waiting');
      graced('graced');
      expect((await find()).commands).toEqual([]);
    });

    test('a budget for Drifted holds drift up', async () => {
      putPool({ consolidateAfter: 'Never', budgets: [{ nodes: '0', reasons: ['Drifted'] }] });
      putNode('a', [1], [drifted(60)]);
      const found = await find();
      expect(found.commands).toEqual([]);
      expect(found.held[0]?.why).toContain('budget 0 for Drifted allows no more');
    });

    test('a NodePool with a rollout is left to it', async () => {
      putNode('a', [1], [drifted(60)]);
      putPolicy({ driftRollout: {} });
      expect((await find()).commands).toEqual([]);
    });
  });

  // Rule `commands/validation`.
  describe('validation of commands', () => {
    test('asks for the recorded pod moves, else for as many replacements, and counts what was launched in their place', async () => {
      putNode('a', [2]);
      putNode('b', [1]);
      const [command] = (await find()).commands;
      const { packer } = world.deps;
      const asked: unknown[] = [];
      packer.reconsider = ({ mostReplacements, decided, decidedMoves }) => {
        asked.push([mostReplacements, decided?.length, decidedMoves?.map(({ to }) => to)]);
        return Promise.resolve(undefined);
      };
      const { reason, candidates, decision } = command!;
      const again = { ...decision!, moves: ['node-b', 'replacement-0-0'].map((to) => ({ pod: 'default/web', to })) };
      await activities.validateCandidates({ reason, candidates, decision: again });
      await activities.validateCandidates({ reason, candidates, decision: again, created: ['launched'] });
      const { length } = again.replacements;
      expect(asked).toEqual([
        [length, length, ['node-b', 'replacement-0-0']],
        [length, undefined, undefined],
        [0, 0, ['node-b', 'launched']],
        [0, undefined, undefined],
      ]);
    });

    test('passes when 15 seconds later the answer is the same, and fails in a changed cluster', async () => {
      putNode('a', [2]);
      putNode('b', [1]);
      const [command] = (await find()).commands;
      const { reason, candidates, decision } = command!;
      const judged = { reason, candidates, decision: decision! };

      await expect(activities.validateCandidates(judged)).resolves.toMatchObject({ dropped: [] });

      putNode('c', [3, 0.5]);
      world.kube.put('Pod', {
        metadata: { name: 'big', namespace: 'default' },
        spec: {
          nodeName: candidates[0]!.node,
          containers: [{ name: 'app', resources: { requests: { cpu: '64', memory: '1Gi' } } }],
        },
        status: { phase: 'Running' },
      });
      await world.synced();
      const verdict = await activities.validateCandidates(judged);
      expect(verdict.valid).toEqual([]);
      expect(verdict.dropped[0]?.why).toMatch(/no place for its pods|new nodes now/);
    });

    test('after a hold taints the nodes again: pods bound to another candidate than planned count as nominated to none', async () => {
      putNode('a', [2]);
      putNode('b', [1]);
      const [command] = (await find()).commands;
      const { reason, candidates, decision } = command!;
      const [first, second] = candidates;
      const onSecond = world.deps.cache.all('Pod').filter(({ spec }) => spec.nodeName === second?.node);
      const planned = { [annotations.plannedPods]: onSecond.map(fullName).join(',') };
      await world.kube.patch('NodeClaim', { name: first!.claim.name }, { metadata: { annotations: planned } });
      await activities.taintCandidates({ reason, candidates, owner: 'w' });
      await world.synced();

      const verdict = await activities.validateCandidates({ reason, candidates, decision: decision! });
      expect([onSecond.length > 0, verdict.dropped]).toEqual([true, []]);
    });

    test('passes where the recorded command still holds, though its nodes alone would come to less', async () => {
      putNode('a', [2]);
      putNode('b', [1]);
      const [command] = (await find()).commands;
      const { packer } = world.deps;
      const reconsider = packer.reconsider.bind(packer);
      let stillDoes = true;
      packer.reconsider = async (input, names) => {
        const now = (await reconsider(input, names))!;
        const others = now.replacements.map((each) => ({ ...each, instanceTypes: ['other'] }));
        return input.decided === undefined ? { ...now, replacements: others } : stillDoes ? now : undefined;
      };
      const { reason, candidates, decision } = command!;
      const judged = { reason, candidates, decision: decision! };
      await expect(activities.validateCandidates(judged)).resolves.toMatchObject({ dropped: [] });

      stillDoes = false;
      const { valid, dropped } = await activities.validateCandidates(judged);
      expect(valid).toEqual([]);
      expect(dropped[0]?.why).toMatch(/places or prices have changed/);
    });

    test('fails as a whole when a candidate is gone', async () => {
      putNode('a', [2]);
      putNode('b', [1]);
      const [command] = (await find()).commands;
      const { reason, candidates, decision } = command!;
      const gone = { ...candidates[0]!, claim: { name: 'x', uid: 'uid-x' }, node: 'node-x' };
      const verdict = await activities.validateCandidates({
        reason,
        candidates: [...candidates, gone],
        decision: decision!,
      });
      expect(verdict).toEqual({ valid: [], dropped: [{ node: 'node-x', why: 'it is gone' }] });
    });
  });
});

describe('concurrentCommands', () => {
  const view = (name: string): never =>
    ({ claim: { metadata: { name, labels: { [labels.nodePool]: 'p' } } }, node: { metadata: { name } } }) as never;
  const views = ['a', 'b', 'c', 'd'].map(view);
  const command = (candidates: string[], moves: string[]): never =>
    ({
      method: 'single',
      candidates,
      moves: moves.map((to, i) => ({ pod: `ns/p${i}`, to })),
      replacements: [],
      priceBefore: 1,
      priceAfter: 0,
    }) as never;
  const chosen = (commands: never[], most = 100): string[] => {
    const limits = new Map([['p', { Underutilized: most }]]);
    return concurrentCommands(commands, { limits }, { views }).commands.map(({ candidates }) => candidates.join());
  };

  test.each([
    ['independent ones go together', [command(['a'], ['c']), command(['b'], ['c'])], ['a', 'b']],
    ['a node that pods are moved to does not go', [command(['a'], ['b']), command(['b'], ['c'])], ['a']],
    ['pods do not go where another node leaves', [command(['a'], ['c']), command(['b'], ['a'])], ['a']],
    [
      'what rests on the replacement of another waits',
      [command(['a'], ['replacement-0-0']), command(['b'], ['replacement-0-0'])],
      ['a'],
    ],
    ['own replacements are no obstacle', [command(['a'], ['c']), command(['b'], ['replacement-1-0'])], ['a', 'b']],
  ])('%s', (_name, commands, expected) => {
    expect(chosen(commands)).toEqual(expected);
  });

  test('where the limit does not allow all commands, the highest saving per node goes first', () => {
    const saving = (candidates: string[], priceAfter: number): never =>
      ({ ...(command(candidates, ['d']) as object), priceBefore: 10, priceAfter }) as never;
    expect(chosen([saving(['a'], 9), saving(['b', 'c'], 4)], 2)).toEqual(['b,c']);
    expect(chosen([saving(['a'], 9), saving(['b', 'c'], 4)], 3)).toEqual(['b,c', 'a']);
    expect(chosen([saving(['a'], 5), saving(['b', 'c'], 4)], 2)).toEqual(['a']);
  });

  test('a command that waits for its nodes to be consolidatable keeps its place', () => {
    const both = [command(['a'], ['d']), command(['b'], ['d'])];
    const side = (most: number): ReturnType<typeof concurrentCommands> =>
      concurrentCommands(
        both,
        { limits: new Map([['p', { Underutilized: most }]]) },
        { views, notYet: new Set(['a']) },
      );
    expect(side(1)).toMatchObject({ commands: [], notYetConsolidatable: [both[0]] });
    expect(side(2)).toMatchObject({ commands: [both[1]], notYetConsolidatable: [both[0]] });
    expect(concurrentCommands(both, {}, { views })).toMatchObject({ commands: both, notYetConsolidatable: [] });
  });

  test("all commands together stay within the NodePool's limit", () => {
    expect(chosen([command(['a'], ['d']), command(['b'], ['d']), command(['c'], ['d'])], 2)).toEqual(['a', 'b']);
  });
});
