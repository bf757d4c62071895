import { expect, test } from 'vitest';
import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { pod } from '../../test/builders/packing-fixtures.js';
import { fullName } from '../names.js';
import { runningAntiAffinityOf, type HighCardinalityTopology } from './high-cardinality-keys.js';
import type { Resume } from '../types.js';
import { admitWithinTerms, termsPerPass, termsPerTrial } from './budget.js';

const alternatives = (name: string, terms: number): PodSpec['affinity'] => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: Array.from({ length: terms }, (_, n) => ({
        matchExpressions: [{ key: `example.com/${name}-${n}`, operator: 'Exists' }],
      })),
    },
  },
});
/** A pod with terms of its own: two for each alternative. */
const withTerms = (name: string, terms: number): Pod => pod(name, { affinity: alternatives(name, terms / 2) });
const heavy = (count: number, terms = 100): Pod[] =>
  Array.from({ length: count }, (_, n) => withTerms(`heavy-${String(n).padStart(3, '0')}`, terms));
const demanding = (count: number): Pod[] =>
  Array.from({ length: count }, (_, n) => withTerms(`demanding-${String(n).padStart(4, '0')}`, 64));
const namesOf = (pods: readonly Pod[]): string[] => pods.map(fullName).sort();

/** What each pass looks at when it goes on where the one before ended, until every pod has had its turn. */
function passes(pods: readonly Pod[], after: (admitted: readonly Pod[]) => void = () => undefined): Set<string>[] {
  const looked: Set<string>[] = [];
  let resume: Resume | undefined;
  do {
    const admission = admitWithinTerms(pods, { resume });
    looked.push(new Set(admission.admitted.map(fullName)));
    after(admission.admitted);
    ({ resume } = admission);
    expect(looked.length).toBeLessThan(100);
  } while (resume !== undefined);
  return looked;
}

test('compile budget: pods within the budget are all compiled, in the same list', () => {
  const pods = [...heavy(2), pod('a'), pod('b')];
  expect(admitWithinTerms(pods)).toEqual({ admitted: pods, deferred: [], resume: undefined });
  expect(admitWithinTerms(pods).admitted).toBe(pods);
});

test('compile budget: pods with few terms are in every pass, and a class of pods is counted once', () => {
  const ordinary = Array.from({ length: 500 }, (_, n) =>
    pod(`ordinary-${n}`, { nodeSelector: { team: `t${n % 100}` } }),
  );
  const replicas = Array.from({ length: 200 }, (_, n) => ({ ...withTerms('a', 100), metadata: { name: `a-${n}`, namespace: 'default' } })); // prettier-ignore
  const { admitted, deferred, resume } = admitWithinTerms([...heavy(20), ...ordinary, ...replicas]);
  const names = new Set(admitted.map(fullName));
  expect([...ordinary, ...replicas].every((each) => names.has(fullName(each)))).toBe(true);
  // The replicas and one heavy pod spend 200 of 256.
  expect(termsPerPass.heavy).toBe(256);
  expect(namesOf(deferred)).toEqual(namesOf(heavy(20).slice(1)));
  expect(resume).toEqual({ heavy: 'default/heavy-001' });
});

test('compile budget: the order of the input changes nothing', () => {
  const pods = [...heavy(20), ...demanding(300)];
  const turned = admitWithinTerms([...pods].reverse());
  expect(namesOf(turned.deferred)).toEqual(namesOf(admitWithinTerms(pods).deferred));
  expect(turned.resume).toEqual(admitWithinTerms(pods).resume);
});

test('compile budget: each pod is compiled within as many passes as the budget needs, though none finds a node', () => {
  const pods = [...heavy(7), ...demanding(700), pod('ordinary')];
  const looked = passes(pods);
  for (const each of pods) expect(looked.some((names) => names.has(fullName(each)))).toBe(true);
  expect(looked.every((names) => names.has('default/ordinary'))).toBe(true);
  // Two of 100 terms a pass, and so many of 64.
  expect(looked).toHaveLength(Math.ceil(700 / (termsPerPass.demanding / 64)));
});

test('compile budget: a pod with more terms than the whole budget gets a pass alone', () => {
  const looked = passes(heavy(3, 2000));
  expect(looked.map((names) => [...names])).toEqual([
    ['default/heavy-000'],
    ['default/heavy-001'],
    ['default/heavy-002'],
  ]);
});

test('compile budget: placed pods drop out, and new pods do not delay the turn of the others', () => {
  const pods = heavy(9);
  const waiting = new Set(namesOf(pods));
  let fresh = 0;
  const looked = passes(pods, (admitted) => {
    for (const each of admitted) {
      waiting.delete(fullName(each));
      pods.splice(pods.indexOf(each), 1);
    }
    if (fresh < 3) pods.push(withTerms(`a-new-${fresh++}`, 100));
  });
  expect([...waiting]).toEqual([]);
  expect(looked).toHaveLength(5);
});

test('compile budget: pods that name very many values of one label share the budget; those that name few, or a host name, do not', () => {
  const naming = (key: string, count: number): Pod[] =>
    Array.from({ length: count }, (_, n) =>
      pod(`p-${String(n).padStart(4, '0')}`, { nodeSelector: { [key]: `v${n}` } }),
    );
  expect(admitWithinTerms(naming('example.com/team', 128)).deferred).toEqual([]);
  expect(admitWithinTerms(naming('kubernetes.io/hostname', 1000)).deferred).toEqual([]);
  const looked = passes(naming('example.com/team', 1000));
  expect(looked.map(({ size }) => size)).toEqual([...Array.from({ length: 8 }, () => 124), 8]);
  expect(new Set(looked.flatMap((names) => [...names])).size).toBe(1000);
});

test('compile budget: a namespace within its fair share is in every pass, whatever other namespaces have', () => {
  const small = heavy(1).map((each): Pod => ({ ...each, metadata: { ...each.metadata, namespace: 'zz' } }));
  const looked = passes([...heavy(20), ...small]);
  expect(looked.every((names) => names.has('zz/heavy-000'))).toBe(true);
  // 100 of 256 terms are its own: one pod of the other is left room for in each pass.
  expect(looked).toHaveLength(20);
});

const apartBy = (name: string, topologyKey = 'node.kubernetes.io/instance-type'): Pod =>
  pod(name, {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { a: name } } }] } },
  }); // prettier-ignore
const keys = new Map([['node.kubernetes.io/instance-type', 100]]);
const highCardinality: HighCardinalityTopology = { keys, runningAntiAffinity: [] };

test('compile budget: pods with a topology key of many values take turns with all others, until each had a pass', () => {
  const apart = Array.from({ length: 100 }, (_, n) => apartBy(`many-${String(n).padStart(3, '0')}`));
  const others = [pod('a'), apartBy('zone', labels.zone)];
  const looked: number[] = [];
  const seen = new Set<string>();
  let resume: Resume | undefined;
  do {
    const admission = admitWithinTerms([...apart, ...others], { resume, highCardinality });
    const names = namesOf(admission.admitted);
    expect([0, others.length]).toContain(names.filter((name) => !name.includes('many-')).length);
    expect(names.length + admission.deferred.length).toBe(102);
    names.forEach((name) => seen.add(name));
    looked.push(names.length);
    ({ resume } = admission);
  } while (resume !== undefined && looked.length < 20);
  expect(looked).toEqual([2, 64, 2, 36]);
  expect(seen.size).toBe(102);
});

test('compile budget: where all pods have a topology key of many values there are no turns; an asked-about pod gets its pass, and simulations leave them out', () => {
  const apart = [apartBy('many-0'), apartBy('many-1')];
  expect(admitWithinTerms(apart, { highCardinality })).toMatchObject({ deferred: [], resume: undefined });
  const about = new Set(['default/many-1']);
  expect(namesOf(admitWithinTerms([...apart, pod('a')], { highCardinality, about }).admitted)).toEqual([
    'default/many-1',
  ]);
  const trial = admitWithinTerms([...apart, pod('a')], { highCardinality, budgets: termsPerTrial });
  expect([namesOf(trial.admitted), trial.resume]).toEqual([['default/a'], undefined]);
});

test('compile budget: a pod that somebody asks about is in the next pass, beside the usual ones, or alone where it is expensive', () => {
  const others = [pod('a'), ...inNamespace('zz', heavy(20))];
  const ask = (asked: readonly Pod[]) => admitWithinTerms([...others, ...asked], { about: new Set(namesOf(asked)) });

  const beside = ask([pod('asked'), withTerms('few', 16)]);
  expect(namesOf(beside.admitted)).toEqual(expect.arrayContaining(['default/asked', 'default/few', 'default/a']));
  expect([beside.deferred.length > 0, beside.resume]).toEqual([true, undefined]);

  const asked = [...heavy(8), ...demanding(4), pod('asked')];
  const alone = ask(asked);
  expect(namesOf(alone.admitted)).toEqual(namesOf(asked));
  expect(namesOf(alone.deferred)).toEqual(namesOf(others));
});

test('compile budget: a question has its own limit, and pods beyond it are not compiled', () => {
  const asked = heavy(100);
  const { admitted, deferred } = admitWithinTerms([...asked, pod('a')], { about: new Set(namesOf(asked)) });
  expect(admitted.length).toBeGreaterThan(30);
  expect(deferred.length).toBeGreaterThan(30);
});

test('compile budget: label values that many NodePools leave open count once for each NodePool', () => {
  const naming = Array.from({ length: 40 }, (_, n) =>
    pod(`p-${String(n).padStart(2, '0')}`, { nodeSelector: { 'example.com/team': `v${n}` } }),
  );
  const openTo = (pools: number) => ({ openKeys: new Map([['example.com/team', pools]]) });
  expect(admitWithinTerms(naming, openTo(3)).deferred).toEqual([]);
  // Each costs 16 copies of 32 terms, and its own term.
  expect(admitWithinTerms(naming, openTo(16)).admitted).toHaveLength(7);
});

test("compile budget: pods that a running pod's anti-affinity keeps away by a topology key of many values take turns too", () => {
  const running = apartBy('running');
  const kept = pod('kept', { labels: { a: 'running' } });
  const elsewhere = { ...kept, metadata: { ...kept.metadata, namespace: 'elsewhere' } };
  const runningAntiAffinity = runningAntiAffinityOf([[running]], keys);
  expect(
    namesOf(admitWithinTerms([kept, elsewhere], { highCardinality: { keys, runningAntiAffinity } }).admitted),
  ).toEqual(['elsewhere/kept']);
});

const inNamespace = (namespace: string, pods: readonly Pod[]): Pod[] =>
  pods.map((each) => ({ ...each, metadata: { ...each.metadata, namespace } }));
/** Pods of few terms, about a label that nobody else has rules about. */
const odd = (count: number): Pod[] =>
  Array.from({ length: count }, (_, n) => apartBy(`odd-${String(n).padStart(3, '0')}`, 'example.com/odd'));

test('compile budget: unusual pods of a namespace above its share take turns with the pods of other namespaces', () => {
  const hostile = [...inNamespace('tenant', odd(600)), ...inNamespace('tenant', [pod('plain')])];
  const others = [pod('a'), ...inNamespace('zz', odd(2))];
  const looked = passes([...hostile, ...others]);
  // Those of most pods, and of the tenant's in turn; its usual pod is with most.
  expect(looked.map(({ size }) => size)).toEqual([4, 256, 4, 256, 4, 88]);
  expect([...looked[0]!].sort()).toEqual(['default/a', 'tenant/plain', 'zz/odd-000', 'zz/odd-001']);
  expect(new Set(looked.flatMap((names) => [...names])).size).toBe(604);
});

test('compile budget: in a namespace above its share every pod that requests more than CPU and memory waits for these turns', () => {
  const asking = [
    pod('selects', { nodeSelector: { team: 'a' } }),
    pod('tolerates', { tolerations: [{ operator: 'Exists' }] }),
  ];
  const both = [...asking, pod('plain')];
  const [first, second] = passes([...inNamespace('tenant', [...odd(100), ...both]), ...inNamespace('zz', both)]);
  expect([...first!].sort()).toEqual(['tenant/plain', 'zz/plain', 'zz/selects', 'zz/tolerates']);
  expect(second).toContain('tenant/selects');
  expect(admitWithinTerms([...inNamespace('tenant', both), ...inNamespace('zz', both)]).deferred).toEqual([]);
});

test('compile budget: a namespace with few unusual pods waits for no turn, even among those of another', () => {
  const few = inNamespace('zz', odd(40));
  const looked = passes([...inNamespace('tenant', odd(600)), ...few, pod('a')]);
  const ofTenant = looked.filter((names) => names.has('tenant/odd-000') || !names.has('default/a'));
  expect(ofTenant.length).toBeGreaterThan(2);
  expect(ofTenant.every((names) => few.every((each) => names.has(fullName(each))))).toBe(true);
});

test('compile budget: unusual pods take no turns while no other pods wait, and keep their turn when others come', () => {
  const alone = inNamespace('tenant', odd(600));
  expect(admitWithinTerms(alone)).toMatchObject({ deferred: [], resume: undefined });
  const first = admitWithinTerms([...alone, pod('a')]);
  expect(namesOf(first.admitted)).toEqual(['default/a']);
  const second = admitWithinTerms(alone, { resume: first.resume! });
  expect(second.admitted).toHaveLength(256);
  expect(admitWithinTerms(alone, { resume: second.resume! }).admitted.length).toBeLessThanOrEqual(256);
});

test('compile budget: other pods in a pass with a topology key of many values count by its number of values too', () => {
  const about = (values: number): HighCardinalityTopology => ({
    keys: new Map([['node.kubernetes.io/instance-type', values]]),
    runningAntiAffinity: [],
  });
  const pods = Array.from({ length: 100 }, (_, n) => apartBy(`many-${String(n).padStart(3, '0')}`));
  const looked = (values: number): number => admitWithinTerms(pods, { highCardinality: about(values) }).admitted.length;
  expect([100, 320, 1024].map(looked)).toEqual([64, 25, 8]);
});
