import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PodSpec } from '../../api/kubernetes.js';
import { type Case, type Kind, generate } from '../cases/index.js';
import { plan } from '../../packing/plan.js';
import type { Blocker, Plan, TypeGroup } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import { readMachineTypes } from '../checker/catalogue.js';
import { type Cluster, type Pool, readCluster } from '../checker/cluster.js';
import {
  type Launch,
  type Placement,
  daemonsOn,
  launchesOf,
  mayFitLabels,
  place,
  totalRequests,
} from '../checker/placement.js';
import { addAmounts, podRequests } from '../checker/pods.js';
import { fixedLabels } from '../checker/prices.js';
import { untolerated } from '../checker/selectors.js';

fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });
const seeds = fc.integer({ min: 1, max: 1_000_000 });

/** What the checker knows of a pool for one pod. */
interface Ways {
  /** To launch a node whose labels suit it. */
  readonly suiting: readonly Launch[];
  /** Of these, on no capacity reservation that the plan has used up. */
  readonly offered: readonly Launch[];
  /** Of the suiting ones, those that hold the pod. */
  readonly holding: readonly Launch[];
}

function waysFor(placement: Placement, pool: Pool, spec: PodSpec): Ways {
  const name = 'a new node';
  const { requirements = [], taints = [] } = pool.spec.template.spec;
  const launches = launchesOf([...placement.typesOf(pool).values()], fixedLabels(pool, undefined, name), requirements);
  const suiting = launches.filter(({ labels }) => mayFitLabels(spec, labels, name));
  const holding = suiting.filter(({ type, labels }) => {
    const needs: Record<string, number> = { ...podRequests(spec), pods: 1 };
    addAmounts(needs, totalRequests(daemonsOn(placement.cluster.daemonSets, labels, taints, name)));
    return Object.entries(needs).every(([resource, amount]) => amount <= (type.resources[resource] ?? 0));
  });
  const offered = suiting.filter(({ offer }) => !isUsedUp(placement, offer));
  return { suiting, offered, holding };
}

function isUsedUp({ nodes }: Placement, { reserved }: Launch['offer']): boolean {
  if (reserved === undefined) return false;
  const users = nodes.filter(({ launches }) => launches.some(({ offer }) => offer.reserved?.id === reserved.id));
  return users.length >= reserved.free;
}

interface Known extends Ways {
  readonly pool: Pool;
  readonly spec: PodSpec;
}

/** By reason: when it cannot be true of the pool. */
const isWrong: Partial<Readonly<Record<Blocker['reason'], (known: Known) => boolean>>> = {
  Limits: ({ pool }) => pool.spec.limits === undefined,
  MinValues: ({ pool }) =>
    (pool.spec.template.spec.requirements ?? []).every(({ minValues }) => minValues === undefined),
  Resources: ({ holding }) => holding.length > 0,
  Topology: ({ holding }) => holding.length === 0,
  HostPorts: ({ holding }) => holding.length === 0,
  Requirements: ({ suiting, spec }) => suiting.length > 0 && hasNoRareKeys(spec),
  Offerings: ({ offered, spec }) => offered.length > 0 && hasNoRareKeys(spec),
};

/** Why the reason cannot be true of the pool; undefined where it can. */
function untruth(placement: Placement, pool: Pool, spec: PodSpec, { reason }: Blocker): string | undefined {
  const hard = (pool.spec.template.spec.taints ?? []).filter(({ effect }) => effect !== 'PreferNoSchedule');
  if ((reason === 'Taints') !== (untolerated(hard, spec.tolerations) !== undefined)) return 'taints';
  return isWrong[reason]?.({ pool, spec, ...waysFor(placement, pool, spec) }) === true ? reason : undefined;
}

/** Labels that no type decides are the engine's to choose: the checker's types say nothing of them. */
const hasNoRareKeys = (spec: PodSpec): boolean =>
  !JSON.stringify([spec.nodeSelector, spec.affinity]).includes('example.com/');

function explained(made: Case): { result: Plan; cluster: Cluster; placement: Placement } {
  const input = packingInputOf(made);
  const result = plan({ ...input, settings: { ...input.settings, explainTypes: true } });
  const cluster = readCluster({ items: made.objects });
  const types = readMachineTypes(made.catalogue);
  return { result, cluster, placement: place(cluster, types, { engine: 'stowage', ...result }).placement };
}

/** Reasons that exclude a type for the pod in every state of the cluster. */
const ofTheType: ReadonlySet<Blocker['reason']> = new Set(['Requirements', 'Offerings', 'Resources', 'HostPorts']);

/** Types of the pool that no group counts, and those that are said not to hold the pod where the checker finds that they do. */
function wrongTypes(placement: Placement, pool: Pool, spec: PodSpec, groups: readonly TypeGroup[]): string[] {
  const counted = groups.reduce((sum, { types }) => sum + types, 0);
  const all = placement.typesOf(pool).size;
  if (counted !== all) return [`${counted} of ${all} are counted`];
  if (!hasNoRareKeys(spec)) return [];
  const { holding: ways, offered } = waysFor(placement, pool, spec);
  const holding = new Set(ways.filter((way) => offered.includes(way)).map(({ type }) => type.name));
  return groups
    .filter(({ reason }) => ofTheType.has(reason))
    .flatMap(({ instanceTypes }) => instanceTypes.filter((name) => holding.has(name)));
}

const cases: readonly (readonly [kind: Kind, size: number, runs: number])[] = [
  ['corner', 40, 40],
  ['extended', 40, 30],
  ['realistic', 60, 5],
];

describe.each(cases)('explanations of unplaced pods in %s cases of %d', (kind, size, numRuns) => {
  test('name each NodePool and each instance type of it once, with a true reason', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { result, cluster, placement } = explained(generate(kind, size, seed));
        for (const { pod, blockers, reason, explanation } of result.unschedulable) {
          if (blockers[0]?.reason === 'Invalid') continue;
          const pools = [...cluster.pools.keys()].sort();
          expect(blockers.map(({ nodePool }) => nodePool).sort()).toEqual(pools);
          const spec = cluster.pods.get(pod)!.spec;
          for (const blocker of blockers) {
            const wrong = untruth(placement, cluster.pools.get(blocker.nodePool ?? '')!, spec, blocker);
            expect({ seed, pod, blocker, wrong }).toEqual({ seed, pod, blocker, wrong: undefined });
            expect(reason).toContain(blocker.message);
          }
          const { nodePools } = result.explanations![explanation!]!;
          const able = blockers.filter((blocker) => blocker.reason !== 'NotReady');
          expect(nodePools.map(({ nodePool }) => nodePool)).toEqual(able.map(({ nodePool }) => nodePool));
          for (const { nodePool, typeGroups } of nodePools) {
            const types = wrongTypes(placement, cluster.pools.get(nodePool)!, spec, typeGroups);
            expect({ seed, pod, nodePool, types }).toEqual({ seed, pod, nodePool, types: [] });
          }
        }
      }),
      { numRuns },
    );
  });
});

test('pods that minValues leave without a node in one pool are placed in another', () => {
  const { result } = explained(generate('corner', 60, 20_028));
  expect(result.unschedulable).toEqual([]);
});
