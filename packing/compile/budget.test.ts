import { expect, test } from '@jest/globals';
import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { pod } from '../../test/builders/packing-fixtures.js';
import { runningAntiAffinityOf, type HighCardinalityTopology } from './high-cardinality-keys.js';
import type { Resume } from '../types.js';
import { admitWithinTerms, limitsOfPass, limitsOfTrial } from './budget.js';
import { fullName } from '../../core/names.js';

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
/** A pod with so many alternatives, each a value of one key. */
const withValues = (name: string, count: number): Pod =>
  pod(name, {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: Array.from({ length: count }, (_, n) => ({
            matchExpressions: [{ key: 'example.com/rack', operator: 'In', values: [`${name}-${n}`] }],
          })),
        },
      },
    },
  });
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

const { pass, share } = limitsOfPass;
const inNamespace = (namespace: string, pods: readonly Pod[]): Pod[] =>
  pods.map((each) => ({ ...each, metadata: { ...each.metadata, namespace } }));
const many = (count: number, make: (name: string) => Pod): Pod[] =>
  Array.from({ length: count }, (_, n) => make(`many-${String(n).padStart(4, '0')}`));
const plainPods = (count: number): Pod[] => many(count, (name) => pod(name));
/** As ordinary pods are: an architecture, a capacity type, a zone and a host. */
const usual = (name: string): Pod => {
  const spread = (topologyKey: string) => ({ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule' as const, labelSelector: { matchLabels: { app: name } } }); // prettier-ignore
  return pod(name, {
    nodeSelector: { [labels.arch]: 'amd64', [labels.capacityType]: 'on-demand' },
    topologySpreadConstraints: [spread(labels.zone), spread(labels.hostname)],
  });
};

test('compile budget: pods within the limit are all looked at, the very list', () => {
  const pods = [...heavy(2), pod('a'), pod('b')];
  expect(admitWithinTerms(pods)).toEqual({ admitted: pods, deferred: [], resume: undefined });
  expect(admitWithinTerms(pods).admitted).toBe(pods);
});

test('compile budget: what ordinary pods ask for costs no pod its turn: any number in one namespace, or a share in each of many', () => {
  expect(admitWithinTerms(many(10_000, usual)).deferred.length).toBe(0);
  const teams = Array.from({ length: 50 }, (_, n) => inNamespace(`team-${n}`, many(share, usual))).flat();
  expect(admitWithinTerms(teams).deferred.length).toBe(0);
});

test('compile budget: a kind of pods is paid for once', () => {
  const replicas = Array.from({ length: 2000 }, (_, n) => ({ ...withTerms('a', 64), metadata: { name: `a-${n}`, namespace: 'default' } })); // prettier-ignore
  expect(admitWithinTerms([...replicas, ...inNamespace('zz', plainPods(1))]).deferred.length).toBe(0);
});

test('compile budget: in a namespace by itself usual pods wait for none with many terms, which take turns up to the limit', () => {
  const pods = [...heavy(6), ...many(500, usual)];
  const looked = passes(pods);
  expect(looked[0]!.size).toBe(500);
  expect(looked.slice(1).map(({ size }) => size)).toEqual([2, 500, 2, 500, 2]);
});

test('compile budget: the order of the input decides nothing', () => {
  const pods = [...heavy(20), ...demanding(30)];
  const turned = admitWithinTerms([...pods].reverse());
  expect(namesOf(turned.deferred)).toEqual(namesOf(admitWithinTerms(pods).deferred));
  expect(turned.resume).toEqual(admitWithinTerms(pods).resume);
});

test('compile budget: a pod with more terms than the whole limit is looked at, by itself', () => {
  const looked = passes(heavy(3, 5000));
  expect(looked.map((names) => [...names])).toEqual([
    ['default/heavy-000'],
    ['default/heavy-001'],
    ['default/heavy-002'],
  ]);
});

test('compile budget: pods that are placed drop out, and those that come meanwhile do not keep the others from their turn', () => {
  const pods = heavy(9);
  const waiting = new Set(namesOf(pods));
  let fresh = 0;
  passes(pods, (admitted) => {
    for (const each of [...admitted]) {
      waiting.delete(fullName(each));
      pods.splice(pods.indexOf(each), 1);
    }
    if (fresh < 3) pods.push(withTerms(`a-new-${fresh++}`, 100));
  });
  expect([...waiting]).toEqual([]);
});

test('compile budget: a namespace beyond its share takes turns with the passes of all others, which wait for none of it but its plain pods', () => {
  const tenant = inNamespace('tenant', [...demanding(20), ...many(3, usual), pod('plain')]);
  const others = [...inNamespace('zz', demanding(2)), pod('a')];
  const looked = passes([...tenant, ...others]);
  const ofOthers = ['default/a', 'tenant/plain', 'zz/demanding-0000', 'zz/demanding-0001'];
  expect([...looked[0]!].sort()).toEqual(ofOthers);
  expect([...looked[2]!].sort()).toEqual(ofOthers);
  // Eight of 64 terms a pass; usual pods count once.
  expect([looked[1]!.size, looked[3]!.size, looked[5]!.size]).toEqual([8, 8, 7]);
  expect(looked).toHaveLength(6);
});

test('compile budget: the more usual pods others have, the larger is the share', () => {
  const tenant = inNamespace('tenant', demanding(10));
  expect(admitWithinTerms([...tenant, ...plainPods(100)]).deferred).toHaveLength(10);
  expect(admitWithinTerms([...tenant, ...plainPods(2000)]).deferred.length).toBe(0);
});

test('compile budget: many namespaces have no more terms together than a pass may cost', () => {
  const tenants = Array.from({ length: 20 }, (_, n) =>
    inNamespace(`tenant-${String(n).padStart(2, '0')}`, demanding(8)),
  );
  const first = admitWithinTerms([...tenants.flat(), pod('a')]);
  expect(first.admitted.length).toBeLessThanOrEqual(1 + pass / 64);
  expect(namesOf(first.admitted)).toContain('default/a');
});

test('compile budget: pods that name very many values of one label pay for each; those of a few values, or of a host name, do not', () => {
  const naming = (key: string, count: number): Pod[] =>
    Array.from({ length: count }, (_, n) =>
      pod(`p-${String(n).padStart(4, '0')}`, { nodeSelector: { [key]: `v${n}` } }),
    );
  expect(admitWithinTerms(naming('example.com/team', 128)).deferred.length).toBe(0);
  expect(admitWithinTerms(naming('kubernetes.io/hostname', 1000)).deferred.length).toBe(0);
  const looked = passes(naming('example.com/team', 1000));
  expect(looked.map(({ size }) => size)).toEqual([...Array.from({ length: 8 }, () => 124), 8]);
  expect(new Set(looked.flatMap((names) => [...names])).size).toBe(1000);
});

test('compile budget: values that another namespace names of a label cost nothing to pods that name a few', () => {
  const naming = (count: number): Pod[] => many(count, (name) => pod(name, { nodeSelector: { team: name } }));
  const few = inNamespace('zz', naming(8));
  expect(namesOf(admitWithinTerms([...naming(1000), ...few]).admitted)).toEqual(namesOf(few));
});

test('compile budget: values of labels that many NodePools leave open cost a copy for each of them', () => {
  const naming = Array.from({ length: 40 }, (_, n) =>
    pod(`p-${String(n).padStart(2, '0')}`, { nodeSelector: { 'example.com/team': `v${n}` } }),
  );
  const openTo = (pools: number) => ({ openKeys: new Map([['example.com/team', pools]]) });
  expect(admitWithinTerms(naming, openTo(3)).deferred.length).toBe(0);
  // Each costs 16 copies of 32 terms, and its own term.
  expect(admitWithinTerms(naming, openTo(16)).admitted).toHaveLength(7);
});

const apartBy = (name: string, topologyKey = 'node.kubernetes.io/instance-type'): Pod =>
  pod(name, {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { a: name } } }] } },
  }); // prettier-ignore
const about = (values: number): HighCardinalityTopology => ({
  keys: new Map([['node.kubernetes.io/instance-type', values]]),
  runningAntiAffinity: [],
});

test('compile budget: a rule about a topology key of many values costs the more the more values it has', () => {
  const pods = many(400, apartBy);
  const looked = [64, 320, 1024].map((values) => admitWithinTerms(pods, { highCardinality: about(values) }).admitted);
  expect(looked.map(({ length }) => length)).toEqual([128, 25, 8]);
});

test('compile budget: so does one of a running pod, for the pods that it keeps away', () => {
  const running = apartBy('running');
  const { keys } = about(320);
  const highCardinality = { keys, runningAntiAffinity: runningAntiAffinityOf([[running]], keys) };
  const kept = many(share, (name) => usual(name)).map((each) => ({ ...each, metadata: { ...each.metadata, labels: { a: 'running' } } })); // prettier-ignore
  expect(admitWithinTerms([...kept, ...inNamespace('zz', kept)], { highCardinality }).deferred.length).toBe(share);
});

test('compile budget: pods that a person asks about have their turn, beside the others that a pass looks at first', () => {
  const others = [pod('a'), ...inNamespace('zz', heavy(20))];
  const asked = inNamespace('tenant', [...heavy(1), ...demanding(4), pod('asked')]);
  const beside = admitWithinTerms([...others, ...asked], { about: new Set(namesOf(asked)) });
  expect(namesOf(beside.admitted)).toEqual(namesOf([...asked, pod('a')]));
  expect([beside.deferred.length, beside.resume]).toEqual([20, undefined]);
});

test('compile budget: what a question may cost has a limit as well: pods beyond it are not looked at', () => {
  const asked = heavy(100);
  const { admitted, deferred } = admitWithinTerms([...asked, pod('a')], { about: new Set(namesOf(asked)) });
  expect([admitted.length, deferred.length]).toEqual([40, 61]);
});

test('compile budget: a simulation, which no pass follows, leaves out only the unusual pods beyond the terms of one', () => {
  const ofTenant = (count: number): Pod[] => inNamespace('tenant', [...heavy(count), usual('usual')]);
  const trial = (count: number) => admitWithinTerms([...ofTenant(count), pod('a')], { limits: limitsOfTrial });
  expect(trial(40).deferred).toEqual([]);
  const { admitted, deferred, resume } = trial(100);
  expect([admitted.length, deferred.length, resume]).toEqual([42, 60, undefined]);
  expect(namesOf(admitted)).toEqual(expect.arrayContaining(['default/a', 'tenant/usual']));
});

test('compile budget: many values of a crowded key that a pod with very many terms names do not count twice', () => {
  const asked = Array.from({ length: 3 }, (_, n) => withValues(`rack-${n}`, 150));
  for (const options of [{ about: new Set(namesOf(asked)) }, { limits: limitsOfTrial }])
    expect(admitWithinTerms([...asked, pod('a')], options).deferred.filter((each) => asked.includes(each))).toEqual([]);
});
