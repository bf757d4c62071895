import { labels } from '../../../api/labels.js';
import { parseResources } from '../../../core/quantities.js';
import { nodeViews } from '../../../cluster/cluster.js';
import { staticCounts } from '../../../disruption/static-capacity/static-capacity.js';
import { providerIdOf, runningNode } from '../running/nodes.js';
import { running, second, type Running } from '../running/stage.js';
import { noCache } from '../buffers/status.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { omit, pod, pool } from '../world.js';
import { changed, leaving, observed, roomy, type Observed } from './observed.js';

const of = (cpu: number) => ({ cpu: `${cpu}`, memory: `${cpu}Gi`, 'ephemeral-storage': `${cpu}Gi` });
interface Sized {
  readonly claim?: object;
  readonly node?: object;
  readonly pool?: string;
  readonly withoutNode?: boolean;
  readonly conditions?: readonly string[];
}

/** A node whose claim and whose Node say what they have. */
function sized(
  it: Running,
  name: string,
  { claim = of(2), node = claim, pool: own = 'default', ...rest }: Sized,
): void {
  runningNode(it, name, { claim: { labels: { [labels.nodePool]: own } }, ...rest });
  const made = it.get('NodeClaim', name)!;
  it.kube.put('NodeClaim', { ...made, status: { ...made.status, capacity: claim } } as never);
  const there = it.get('Node', name);
  if (there === undefined) return;
  const metadata = { ...there.metadata, labels: { ...there.metadata.labels, [labels.nodePool]: own } };
  it.kube.put('Node', { ...there, metadata, status: { ...there.status, capacity: node } } as never);
}

/** CPUs, GiB of memory and of storage, and nodes that a NodePool says it has, when it says them next. */
async function usage(it: Running, name = 'default'): Promise<readonly number[]> {
  await it.pass(10 * second);
  const {
    cpu = 0,
    memory = 0,
    'ephemeral-storage': disk = 0,
    nodes = 0,
  } = parseResources(it.get('NodePool', name)?.status?.resources);
  // Zero may be negative.
  return [cpu / 1000, memory / 2 ** 30, disk / 2 ** 30, nodes].map((amount) => amount + 0);
}
const alike = (cpu: number, nodes: number): readonly number[] => [cpu, cpu, cpu, nodes];
const drop = (it: Running, name: string, ...kinds: readonly ('Node' | 'NodeClaim')[]): void => {
  for (const kind of kinds) it.kube.remove(kind, { name });
};
const poolNames = ['default', 'p2', 'p3'];
function addPools(it: Running): void {
  const own = it.get('NodePool', 'default')!;
  for (const name of poolNames.slice(1))
    it.kube.put('NodePool', { ...own, metadata: { name, uid: name, generation: 1 } });
}
const each = async (it: Running): Promise<unknown> => {
  const all: unknown[] = [];
  for (const name of poolNames) all.push(await usage(it, name));
  return all;
};
/** How many nodes of 4 CPUs a plan may launch below the limit of the pool, with and without `n` being taken for gone. */
const launches = async (it: Observed, without: readonly string[] = []): Promise<number> => {
  const pods = Array.from({ length: 9 }, (_, i) =>
    pod(`p${i}`, { cpu: '3500m', nodeSelector: { [labels.zone]: 'a' } }),
  );
  return (await it.plan(pods, without)).newNodeClaims.length;
};
const limited = (expected: unknown, play: (it: Observed) => Promise<unknown>): Check =>
  observed(expected, async (it) => {
    await it.put(pool({ limits: { cpu: '16' } }), ...roomy());
    return play(it);
  });

const resourceCases: readonly ConformanceCase[] = about('resources of a NodePool in cluster state', [
  same(
    1954,
    'of several pools are separate',
    running(
      [
        [alike(6, 3), alike(12, 3), alike(18, 3)],
        [alike(6, 3), alike(12, 3), alike(18, 3)],
        [alike(4, 2), alike(8, 2), alike(12, 2)],
        [alike(0, 0), alike(0, 0), alike(0, 0)],
      ],
      async (it) => {
        addPools(it);
        const nodes = poolNames.map((own, p) => [1, 2, 3].map((i) => ({ own, name: `${own}-${i}`, cpu: 2 * (p + 1) })));
        for (const { own, name, cpu } of nodes.flat()) sized(it, name, { claim: of(cpu), pool: own });
        const steps = [await each(it)];
        for (const [, , last] of nodes) drop(it, last!.name, 'Node');
        steps.push(await each(it));
        for (const [, , last] of nodes) drop(it, last!.name, 'NodeClaim');
        steps.push(await each(it));
        for (const { name } of nodes.flat()) drop(it, name, 'Node', 'NodeClaim');
        return [...steps, await each(it)];
      },
    ),
  ),
  same(
    2106,
    'follow a node that changes its pool on claim and Node',
    running(
      [
        [alike(2, 1), alike(0, 0)],
        [alike(0, 0), alike(2, 1)],
      ],
      async (it) => {
        addPools(it);
        sized(it, 'n1', {});
        const before = [await usage(it), await usage(it, 'p2')];
        sized(it, 'n1', { pool: 'p2' });
        return [before, [await usage(it), await usage(it, 'p2')]];
      },
    ),
  ),
  same(
    2172,
    'follow a changed instance on claim and Node',
    running([alike(2, 1), alike(2, 1)], async (it) => {
      sized(it, 'n1', {});
      const before = await usage(it);
      const providerID = providerIdOf('other');
      const claim = it.get('NodeClaim', 'n1')!;
      it.kube.put('NodeClaim', { ...claim, status: { ...claim.status, providerID } });
      it.kube.put('Node', { ...it.get('Node', 'n1')!, spec: { providerID } });
      return [before, await usage(it)];
    }),
  ),
  same(
    2223,
    'count the claim again when its Node is gone',
    running([alike(1, 1), alike(2, 1)], async (it) => {
      sized(it, 'n1', { node: of(1) });
      const before = await usage(it);
      drop(it, 'n1', 'Node');
      return [before, await usage(it)];
    }),
  ),
  same(
    2263,
    'count the Node toward limits when its claim is gone',
    limited([3, 3], async (it) => {
      const before = await launches(it);
      await it.remove('NodeClaim', 'n');
      return [before, await launches(it)];
    }),
  ),
  same(
    2303,
    'no longer count a deleting claim',
    running([alike(2, 1), alike(0, 0)], async (it) => {
      sized(it, 'n1', {});
      const before = await usage(it);
      it.cloud.hold('terminate');
      await it.kube.delete('NodeClaim', { name: 'n1' });
      return [before, await usage(it)];
    }),
  ),
  same(
    2339,
    'of a disrupted node are free below the limit until it is released',
    limited([3, 4, 3], async (it) => [await launches(it), await launches(it, ['n']), await launches(it)]),
  ),
  same(
    2383,
    'of a disrupted node are free once, also while it is deleted',
    limited([4, 4, 4, 4, 4], async (it) => {
      const steps = [await launches(it, ['n'])];
      for (const change of [
        () => it.put(...leaving(roomy(), 'NodeClaim')),
        () => it.put(...leaving(leaving(roomy(), 'NodeClaim'), 'Node')),
        () => it.remove('NodeClaim', 'n'),
        () => it.remove('Node', 'n'),
      ]) {
        await change();
        steps.push(await launches(it, ['n']));
      }
      return steps;
    }),
  ),
]);

/** Nodes of a static pool that run, that go, and that a disruption is about to replace. */
async function counts(
  it: Observed,
  { going = [], claimed = [], pool: own = 'default' }: { going?: string[]; claimed?: string[]; pool?: string } = {},
): Promise<readonly number[]> {
  const views = (await nodeViews(it.deps)).filter(({ claim }) => claim.metadata.labels?.[labels.nodePool] === own);
  const context = { deleting: new Set(going), claimed: new Set(claimed), isReplaced: () => false };
  const { running: run, deleting, unreplaced } = staticCounts(views, context);
  return [run.length, deleting.length, unreplaced.length];
}
const claimOf = (name: string, own: string | null = 'default', providerID = `kwok://${name}`) =>
  changed(roomy(name), 'NodeClaim', ({ metadata, status }) => {
    const { labels: given } = metadata as { readonly labels: object };
    const kept = omit(given, labels.nodePool as never);
    return {
      metadata: { ...metadata, labels: own === null ? kept : { ...kept, [labels.nodePool]: own } },
      status: { ...status, providerID },
    };
  }).filter(({ kind }) => kind === 'NodeClaim');
const two = () => [...claimOf('a'), ...claimOf('b')];
const uids = ['claim-a', 'claim-b'];
type Context = NonNullable<Parameters<typeof counts>[1]>;
/** What is counted with each of these contexts in turn. */
const counted = (
  expected: readonly (readonly number[])[],
  objects: ReturnType<typeof two>,
  ...contexts: readonly Context[]
) =>
  observed(expected, async (it) => {
    await it.put(...objects);
    const all: (readonly number[])[] = [];
    for (const context of contexts) all.push(await counts(it, context));
    return all;
  });

const countCases: readonly ConformanceCase[] = about('nodes of a NodePool in cluster state', [
  same(2490, 'a claim with an instance is running', counted([[1, 0, 0]], claimOf('a'), {})),
  same(2502, 'a claim without an instance is running', counted([[1, 0, 0]], claimOf('a', 'default', ''), {})),
  same(
    2524,
    'a claim without a NodePool does not count',
    counted(
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
      claimOf('a', null),
      {},
      { pool: '' },
    ),
  ),
  same(2544, 'two of one pool', counted([[2, 0, 0]], two(), {})),
  same(
    2567,
    'one of each of two pools',
    counted(
      [
        [1, 0, 0],
        [1, 0, 0],
      ],
      [...claimOf('a'), ...claimOf('b', 'other')],
      {},
      { pool: 'other' },
    ),
  ),
  same(
    2592,
    'an unrelated change changes nothing',
    observed(
      [
        [1, 0, 0],
        [1, 0, 0],
      ],
      async (it) => {
        await it.put(...claimOf('a'));
        const before = await counts(it);
        await it.kube.patch('NodeClaim', { name: 'a' }, { metadata: { annotations: { test: 'x' } } });
        await it.synced();
        return [before, await counts(it)];
      },
    ),
  ),
  same(
    2611,
    'another instance of the claim',
    observed(
      [
        [1, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
      ],
      async (it) => {
        await it.put(...claimOf('a'));
        const before = await counts(it);
        await it.put(...claimOf('a', 'default', 'kwok://other'));
        return [before, await counts(it), await counts(it, { going: ['claim-a'] })];
      },
    ),
  ),
  same(
    [2646, 2794],
    'a claim that is being deleted',
    counted(
      [
        [1, 0, 0],
        [0, 1, 0],
      ],
      claimOf('a'),
      {},
      { going: ['claim-a'] },
    ),
  ),
  same(
    [2668, 2738],
    'a claim that is gone',
    observed([[1, 0, 0], [0, 0, 0], undefined], async (it) => {
      await it.put(...claimOf('a'));
      const before = await counts(it);
      await it.remove('NodeClaim', 'a');
      return [before, await counts(it), it.deps.cache.get('NodeClaim', { name: 'a' })];
    }),
  ),
  same(
    2694,
    'claims that are being replaced',
    counted(
      [
        [2, 0, 0],
        [1, 0, 1],
        [0, 0, 2],
      ],
      two(),
      {},
      { claimed: uids.slice(0, 1) },
      { claimed: uids },
    ),
  ),
  same(
    2763,
    'two claims that are being deleted',
    counted(
      [
        [2, 0, 0],
        [0, 2, 0],
      ],
      two(),
      {},
      { going: uids },
    ),
  ),
  same(
    2817,
    'a claim whose replacement was abandoned is running again',
    counted(
      [
        [0, 1, 0],
        [1, 0, 0],
      ],
      claimOf('a'),
      { going: ['claim-a'] },
      {},
    ),
  ),
  same(
    2832,
    'two such claims',
    counted(
      [
        [0, 2, 0],
        [2, 0, 0],
      ],
      two(),
      { going: uids },
      {},
    ),
  ),
  same(
    2865,
    'one claim counts once through parallel updates',
    observed([1, 1, 1, 1], async (it) => {
      await it.put(...claimOf('a'));
      const contexts: Context[] = [
        {},
        { going: ['claim-a'] },
        { claimed: ['claim-a'] },
        { going: ['claim-a'], claimed: ['claim-a'] },
      ];
      return Promise.all(contexts.map(async (context) => (await counts(it, context)).reduce((a, b) => a + b)));
    }),
  ),
]);

const nodeCount = (options: Sized): Check =>
  running(1, async (it) => {
    sized(it, 'n1', { claim: of(4), ...options });
    return (await usage(it))[3];
  });
const capacityCases: readonly ConformanceCase[] = about('capacity counts', [
  same(2911, 'a node as one of limits.nodes', nodeCount({})),
  same(
    2935,
    'a claim without a Node as one of limits.nodes',
    nodeCount({ withoutNode: true, conditions: ['Launched'] }),
  ),
  same(2956, 'a starting node as one of limits.nodes', nodeCount({ conditions: ['Launched', 'Registered'] })),
]);

/** What NodePools have, pkg/controllers/state/suite_test.go */
export const statePoolCases: readonly ConformanceCase[] = [
  ...resourceCases,
  ...countCases,
  ...capacityCases,
  notApplicable([[2992, 3035]], 'how many virtual pods each node has, kept in memory', noCache),
];
