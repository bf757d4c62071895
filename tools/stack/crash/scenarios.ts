import type { Lane } from './lane.js';

const small = 'c5.large';
const large = 'c5.xlarge';
/** Fills most of a small node. */
const oneNode = '1';

/** What is done to a lane's nodes, again and again, until it has come to what it should. */
export interface Scenario {
  readonly name: string;
  readonly prepare: (lane: Lane) => Promise<void>;
  readonly round: (lane: Lane, round: number) => Promise<void>;
  /** Ends what would go on by itself. */
  readonly end?: (lane: Lane) => Promise<void>;
}

const consolidating = { disruption: { consolidateAfter: '1s', budgets: [{ nodes: '50%' }] } };
const revision = 'example.com/revision';

const names = ({ claims }: Lane): Set<string | undefined> => new Set(claims.map(({ metadata }) => metadata.uid));
const isReplaced = (lane: Lane, before: ReadonlySet<string | undefined>): boolean =>
  lane.has(1) && !before.has(lane.claims[0]?.metadata.uid) && lane.runs('web', 1);

/** A lane with one node that runs one pod, which `replace` has to take the place of. */
function oneNodeReplaced(
  name: string,
  pool: Parameters<Lane['createPool']>[0],
  replace: (lane: Lane) => Promise<void>,
  end?: Scenario['end'],
): Scenario {
  return {
    name,
    prepare: async (lane) => {
      await lane.createPool(pool);
      await lane.deploy('web', oneNode);
    },
    round: async (lane, round) => {
      if (round === 0) await lane.scale('web', 1);
      await lane.until('its node', () => lane.has(1));
      const before = names(lane);
      await replace(lane);
      await lane.until('another node in its place', () => isReplaced(lane, before));
    },
    ...(end === undefined ? {} : { end }),
  };
}

const launch: Scenario = {
  name: 'launch',
  prepare: async (lane) => {
    await lane.createPool({ types: [small], spec: consolidating });
    await lane.deploy('web', oneNode);
  },
  round: async (lane) => {
    await lane.scale('web', 2);
    await lane.until('two nodes', () => lane.has(2));
    await lane.scale('web', 0);
    await lane.until('no node', () => lane.has(0));
  },
};

const consolidateDelete: Scenario = {
  name: 'consolidate-delete',
  prepare: async (lane) => {
    await lane.createPool({ types: [small], spec: consolidating });
    for (const [app, cpu] of [
      ['filler', '1'],
      ['little', '600m'],
      ['web', '1'],
    ] as const)
      await lane.deploy(app, cpu);
  },
  round: async (lane) => {
    // The little one is beside the filler, whose end leaves two nodes half empty.
    await lane.scale('filler', 1);
    await lane.scale('little', 1);
    await lane.scale('web', 1);
    await lane.until('two nodes', () => lane.has(2));
    await lane.scale('filler', 0);
    await lane.until('one node for both', () => lane.has(1) && lane.runs('web', 1) && lane.runs('little', 1));
    await Promise.all([lane.scale('web', 0), lane.scale('little', 0)]);
    await lane.until('no node', () => lane.has(0));
  },
};

const consolidateReplace: Scenario = {
  name: 'consolidate-replace',
  prepare: async (lane) => {
    await lane.createPool({
      types: [small, large],
      spec: { disruption: { ...consolidating.disruption, budgets: [{ nodes: '100%' }] } },
    });
    await lane.deploy('web', oneNode);
  },
  round: async (lane) => {
    await lane.scale('web', 3);
    await lane.until('one large node', () => lane.has(1, large) && lane.runs('web', 3));
    await lane.scale('web', 1);
    await lane.until('a small node in its place', () => lane.has(1, small) && lane.runs('web', 1));
    await lane.scale('web', 0);
    await lane.until('no node', () => lane.has(0));
  },
};

const drift: Scenario = {
  name: 'drift',
  prepare: async (lane) => {
    await lane.createPool({ types: [small] });
    await lane.deploy('web', oneNode);
  },
  round: async (lane, round) => {
    if (round === 0) await lane.scale('web', 2);
    await lane.until('two nodes', () => lane.has(2));
    const value = `r${round}`;
    await lane.changePool({ template: { metadata: { labels: { [revision]: value } } } });
    await lane.until(
      'two nodes of the new revision',
      () =>
        lane.has(2) &&
        lane.claims.every(({ metadata }) => metadata.labels?.[revision] === value) &&
        lane.runs('web', 2),
    );
  },
};

const expiration: Scenario = oneNodeReplaced(
  'expiration',
  { types: [small], template: { expireAfter: '90s' } },
  () => Promise.resolve(),
  (lane) => lane.changePool({ template: { spec: { expireAfter: 'Never' } } }),
);

const interruption: Scenario = oneNodeReplaced(
  'interruption',
  { types: [small], capacityType: 'spot' },
  async (lane) => {
    for (const id of lane.instanceIds) await lane.cloud.interruptSpot(id, { delayMs: 120_000 });
  },
);

const repair: Scenario = oneNodeReplaced('repair', { types: [small] }, (lane) => lane.breakNode());

const replicas: Scenario = {
  name: 'replicas',
  prepare: (lane) => lane.createPool({ types: [small], spec: { replicas: 1, limits: { nodes: '4' } } }),
  round: async (lane) => {
    for (const replicas of [3, 1]) {
      await lane.changePool({ replicas });
      await lane.until(`${replicas} replicas`, () => lane.has(replicas));
    }
  },
};

const terminate: Scenario = oneNodeReplaced('terminate', { types: [small] }, (lane) => lane.deleteNode());

export const scenarios: readonly Scenario[] = [
  launch,
  consolidateDelete,
  consolidateReplace,
  drift,
  expiration,
  interruption,
  repair,
  replicas,
  terminate,
];

/** The lane whose NodePool a workflow was started for. */
export const laneOf = (input: string): string | undefined => /"nodePool":"([\w-]+)"/.exec(input)?.[1];
