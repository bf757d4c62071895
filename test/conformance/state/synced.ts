import { AwaitedInstances } from '../../../activities/provisioning/planning.js';
import type { KubernetesObject } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { podOn, runningNode } from '../running/nodes.js';
import { minute, running, second, type Running } from '../running/stage.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';
import { changed, observed, roomy, type Observed } from './observed.js';

const nodeAlone = (name: string) => roomy(name).filter(({ kind }) => kind === 'Node');
const claimAlone = (name: string, providerID = `kwok://${name}`) =>
  changed(roomy(name), 'NodeClaim', ({ status }) => ({ status: { ...status, providerID } })).filter(
    ({ kind }) => kind === 'NodeClaim',
  );
const withoutInstance = (name: string) => changed(nodeAlone(name), 'Node', () => ({ spec: {} }));
type Made = (name: string) => readonly KubernetesObject[];
const many = (count: number, made: Made): readonly KubernetesObject[] =>
  Array.from({ length: count }, (_, i) => made(`${made.name}-${i}`)).flat();

/** Names of claims that plans wait for, because what they will have is not known. */
const awaited = ({ deps }: Observed): Promise<readonly string[]> =>
  new AwaitedInstances(deps, { totalMs: 1000, perCallMs: 1 }).missing(new AbortController().signal);
/** Whether the cache has all of the objects, and a plan waits for none of them. */
const has = (...objects: readonly (readonly KubernetesObject[])[]): Check =>
  observed([true, []], async (it) => {
    await it.put(...objects);
    return [it.deps.cache.synced, await awaited(it)];
  });
/** Whether a plan goes on with what the cache has: an object was written that the watch has not delivered. */
const behind = (kind: 'Node' | 'NodeClaim', made: Made): Check =>
  observed(false, async (it) => {
    await it.put(many(10, made));
    it.kube.silenceWatches();
    const { name = '', resourceVersion = '' } = it.kube.put(kind, made('late')[0] as never).metadata;
    return it.deps.cache.caughtUp(kind, { name }, resourceVersion, AbortSignal.timeout(1)).then(
      () => true,
      () => false,
    );
  });

const memory = 'nothing is put into the cache by hand: what was created is waited for until the watch brings it';

const syncCases: readonly ConformanceCase[] = about('planning waits for the cache to have', [
  same(1227, 'all Nodes', has(many(1000, nodeAlone))),
  notApplicable(
    1251,
    'for how long it was behind',
    'no metric; stowage_cache_synced says that it is (docs/metrics.md)',
  ),
  same(1269, 'Nodes without an instance', has(many(1000, withoutInstance))),
  same(
    1288,
    'Nodes whose instance is known later',
    observed([true, true, 100], async (it) => {
      await it.put(many(100, (name) => withoutInstance(name)));
      const before = it.deps.cache.synced;
      const known = it.kube
        .objects('Node')
        .map((node) => ({ ...node, kind: 'Node', spec: { providerID: `kwok://${node.metadata.name ?? ''}` } }));
      await it.put(known);
      return [
        before,
        it.deps.cache.synced,
        known.filter(({ spec }) => it.deps.cache.nodeByProviderId(spec.providerID)).length,
      ];
    }),
  ),
  same(1321, 'all claims', has(many(1000, claimAlone))),
  same(
    1341,
    'Nodes and claims, together and each alone',
    has(many(250, roomy), many(250, nodeAlone), many(500, claimAlone)),
  ),
  same(1395, 'claims with their Nodes', has(many(500, roomy))),
  same(
    1419,
    'a claim whose instance is not known yet is waited for',
    observed(['c'], async (it) => {
      await it.put(many(10, claimAlone), claimAlone('c', ''));
      return awaited(it);
    }),
  ),
  same(1443, 'a claim that the watch has not delivered', behind('NodeClaim', claimAlone)),
  same(1467, 'a Node that the watch has not delivered', behind('Node', nodeAlone)),
  notApplicable(1490, 'a claim that was put in', memory),
  same(
    1497,
    'no instance of a claim that was deleted',
    observed([['c'], []], async (it) => {
      await it.put(claimAlone('c', ''));
      const before = await awaited(it);
      await it.remove('NodeClaim', 'c');
      return [before, await awaited(it)];
    }),
  ),
  same(
    1516,
    'what it has had once, though more is added',
    observed([true, true], async (it) => {
      await it.put(many(25, roomy), many(25, nodeAlone));
      const before = it.deps.cache.synced;
      it.kube.put('Node', nodeAlone('late')[0] as never);
      return [before, it.deps.cache.synced];
    }),
  ),
]);

/** How often consolidation has looked. */
const looks = (it: Running): number =>
  it.measured.filter(({ name }) => name === 'voluntary_disruption_decision_evaluation_duration_seconds').length;
/** Nothing cheaper than what runs is to be had. */
const onDemand = {
  nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  requirements: [oneOf(labels.capacityType, 'on-demand')],
};
/** Whether it looked again in the time after each step; nothing else changes. */
const looksAgain = (expected: readonly boolean[], ...steps: readonly ((it: Running) => Promise<unknown>)[]): Check =>
  running(
    expected,
    async (it) => {
      runningNode(it);
      podOn(it, 'web', { spec: { containers: [{ name: 'c', image: 'c', resources: { requests: { cpu: '3' } } }] } });
      await it.pass(2 * minute);
      const answers: boolean[] = [];
      for (const step of steps) {
        const before = looks(it);
        await step(it);
        answers.push(looks(it) > before);
      }
      return answers;
    },
    { pool: { template: { spec: onDemand }, disruption: { consolidateAfter: '0s' } } },
  );
const consolidatedCases: readonly ConformanceCase[] = about('when consolidation looks again', [
  same(
    1706,
    'when the cluster changes',
    looksAgain([true], (it) => {
      runningNode(it, 'n2');
      return it.pass(minute);
    }),
  ),
  same(
    1716,
    'within five minutes without a change',
    looksAgain([true], (it) => it.pass(5 * minute + 10 * second)),
  ),
  same(
    1728,
    'when a NodePool changes',
    looksAgain([true], async (it) => {
      await it.kube.patch('NodePool', { name: 'default' }, { spec: { weight: 7 } });
      await it.pass(30 * second);
    }),
  ),
]);

/** What is known of the cluster, pkg/controllers/state/suite_test.go */
export const stateSyncCases: readonly ConformanceCase[] = [...syncCases, ...consolidatedCases];
