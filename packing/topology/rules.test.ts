import { describe, expect, test } from '@jest/globals';
import type { Affinity, Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import type { Group } from './groups.js';
import { mayExcludeDomains, selectingOthers, wants, type Rules } from './rules.js';

const { zone, hostname } = labels;
const rack = 'example.com/rack';

const term = (topologyKey: string, app: string): PodAffinityTerm => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
});
const spread = (topologyKey: string, app: string): TopologySpreadConstraint => ({
  maxSkew: 1,
  whenUnsatisfiable: 'DoNotSchedule',
  ...term(topologyKey, app),
});
const required = (...terms: PodAffinityTerm[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms });
const preferred = (...terms: PodAffinityTerm[]) => ({
  preferredDuringSchedulingIgnoredDuringExecution: terms.map((podAffinityTerm) => ({ weight: 1, podAffinityTerm })),
});
const withAffinity = (name: string, affinity: Affinity, app = name): Pod => pod(name, { labels: { app }, affinity });

/** A pod with a rule of each kind, by zone and by host: it is spread with its like, wants to be with pods of one app, and away from those of another. */
const withEveryKind = (near: string, away: string): Pod =>
  pod('own', {
    labels: { app: 'own' },
    topologySpreadConstraints: [spread(zone, 'own'), spread(hostname, 'own')],
    affinity: {
      podAffinity: required(term(zone, near), term(hostname, near)),
      podAntiAffinity: required(term(zone, away), term(hostname, away)),
    },
  });

/** `kind key app` of each group. */
const text = (groups: readonly Group[]): string[] =>
  groups.map(({ kind, key, selector }) => `${kind} ${key} ${selector?.matchLabels?.['app'] ?? ''}`);

const lists = ['spread', 'affinity', 'antiAffinity', 'hostSpread', 'hostAffinity', 'hostAntiAffinity'] as const;
const sortedOut = (rules: Rules) => Object.fromEntries(lists.map((list) => [list, text(rules[list])]));

describe('topology rules of a pod', () => {
  const everyKind = withEveryKind('a', 'b');

  test('are sorted by kind and by topology key', () => {
    const { rulesOf, book, compiled } = topologyOf(packingInput({ pods: [everyKind] }));
    const rules = rulesOf(everyKind);
    expect(sortedOut(rules)).toEqual({
      spread: [`spread ${zone} own`],
      affinity: [`affinity ${zone} a`],
      antiAffinity: [`antiAffinity ${zone} b`],
      hostSpread: [`spread ${hostname} own`],
      hostAffinity: [`affinity ${hostname} a`],
      hostAntiAffinity: [`antiAffinity ${hostname} b`],
    });
    expect(text(rules.matched)).toEqual([`spread ${zone} own`, `spread ${hostname} own`]);
    expect(text(rules.keepsOff)).toEqual([`antiAffinity ${zone} b`, `antiAffinity ${hostname} b`]);
    const [shape] = compiled.classes.shapes;
    expect(rules.level).toBe(compiled.levelsByShape[0]![0]);
    expect(rules.identity).toBe(book.identity(shape!));
    expect(rules.identity).toMatchObject({ namespace: 'default', labels: { app: 'own' } });
    expect(rulesOf(everyKind)).toBe(rules);
  });

  test('are those of its relaxation level; only required anti-affinity excludes other pods', () => {
    const own = withAffinity('own', {
      podAntiAffinity: { ...required(term(zone, 'a')), ...preferred(term(zone, 'b')) },
    });
    const { rulesOf, book } = topologyOf(packingInput({ pods: [own] }));
    const [first, last] = [rulesOf(own), rulesOf(own, -1)];
    expect(text(first.antiAffinity)).toEqual([`antiAffinity ${zone} a`, `antiAffinity ${zone} b`]);
    expect(text(last.antiAffinity)).toEqual([`antiAffinity ${zone} a`]);
    for (const rules of [first, last]) expect(text(rules.keepsOff)).toEqual([`antiAffinity ${zone} a`]);
    expect(first.antiAffinity.map((group) => book.isBinding(group))).toEqual([true, false]);
  });

  test('include its preferred affinity, until that is dropped', () => {
    const own = withAffinity('own', { podAffinity: { ...required(term(zone, 'a')), ...preferred(term(zone, 'b')) } });
    const { rulesOf } = topologyOf(packingInput({ pods: [own] }));
    expect(text(rulesOf(own).affinity)).toEqual([`affinity ${zone} a`, `affinity ${zone} b`]);
    expect(text(rulesOf(own, -1).affinity)).toEqual([`affinity ${zone} a`]);
  });

  test('count pods for affinity and spread, of a domain or of a host', () => {
    const { rulesOf } = topologyOf(packingInput({ pods: [everyKind] }));
    const rules = rulesOf(everyKind);
    for (const list of ['spread', 'hostSpread', 'affinity', 'hostAffinity'] as const) {
      expect([list, wants(rules, rules[list][0]!)]).toEqual([list, true]);
    }
    expect(wants(rules, rules.antiAffinity[0]!)).toBe(false);
  });

  test('of other pods decide which nodes count for those, where the pod does not have them itself', () => {
    const picky = pod('picky', {
      labels: { app: 'own', kind: 'picky' },
      nodeSelector: { tier: 'critical' },
      topologySpreadConstraints: [{ ...spread(zone, 'own'), nodeTaintsPolicy: 'Honor' }],
    });
    const plain = pod('plain', { labels: { app: 'own' } });
    const { rulesOf } = topologyOf(packingInput({ pods: [picky, plain] }));
    expect(rulesOf(picky).keys).toEqual([zone]);
    expect(rulesOf(plain).keys).toEqual([labels.nodePool, 'tier', zone].sort());
  });

  test('exclude other pods by anti-affinity alone', () => {
    const own = pod('own', {
      labels: { app: 'own' },
      topologySpreadConstraints: [spread(zone, 'own')],
      affinity: { podAffinity: required(term(zone, 'own')) },
    });
    const { rulesOf } = topologyOf(packingInput({ pods: [own] }));
    expect(rulesOf(own).keepsOff).toEqual([]);
  });

  test('are those of its class alone', () => {
    const plain = pod('plain', { labels: { app: 'plain' } });
    const shy = withAffinity('shy', { podAntiAffinity: required(term(zone, 'x')) });
    const { rulesOf } = topologyOf(packingInput({ pods: [plain, shy] }));
    expect(text(rulesOf(plain).keepsOff)).toEqual([]);
    expect(text(rulesOf(shy).keepsOff)).toEqual([`antiAffinity ${zone} x`]);
    expect(rulesOf(plain).identity.labels).toEqual({ app: 'plain' });
    expect(rulesOf(shy).identity.labels).toEqual({ app: 'shy' });
  });
});

describe("topology keys that must be decided for a pod's node", () => {
  const loud = pod('loud', { labels: { app: 'loud' } });
  const shyOf = (podAntiAffinity: Affinity['podAntiAffinity']): Pod =>
    withAffinity('shy', podAntiAffinity === undefined ? {} : { podAntiAffinity });

  test.each<[string, Pod, Pod[], string[]]>([
    ['are none without rules', loud, [], []],
    [
      'are those of its own rules, sorted, the host name apart',
      pod('own', { topologySpreadConstraints: [spread(zone, 'x'), spread(rack, 'x'), spread(hostname, 'x')] }),
      [],
      [rack, zone],
    ],
    ['are those of a rule that selects it and must hold', loud, [shyOf(required(term(zone, 'loud')))], [zone]],
    ['are not those of a rule that is only preferred', loud, [shyOf(preferred(term(zone, 'loud')))], []],
    ['are not the host name', loud, [shyOf(required(term(hostname, 'loud')))], []],
    ['are not those of a rule that selects others', loud, [shyOf(required(term(zone, 'other')))], []],
  ])('%s', (_, own, others, expected) => {
    const { rulesOf } = topologyOf(packingInput({ pods: [own, ...others] }));
    expect(rulesOf(own).keys).toEqual(expected);
  });

  test("include those of running pods' rules, once these bind", () => {
    const { rulesOf, book } = topologyOf(packingInput({ pods: [loud, shyOf(preferred(term(zone, 'loud')))] }));
    const [group] = book.groups.all;
    expect(book.isBinding(group!)).toBe(false);
    book.bind(group!);
    expect(book.isBinding(group!)).toBe(true);
    expect(rulesOf(loud).keys).toEqual([zone]);
    expect(text(rulesOf(loud).matched)).toEqual([`antiAffinity ${zone} loud`]);
  });
});

describe('topology rules that select pods without having them', () => {
  const plain = pod('plain', { labels: { app: 'plain' } });
  /** Looks at pods of the app in all ways. */
  const looker = (name: string, app: string): Pod =>
    pod(name, {
      labels: { app: name },
      topologySpreadConstraints: [spread(zone, app), spread(hostname, app)],
      affinity: {
        podAffinity: required(term(zone, app), term(hostname, app)),
        podAntiAffinity: required(term(zone, app)),
      },
    });
  const [other, own] = [looker('other', 'plain'), looker('own', 'own')];
  const { rulesOf } = topologyOf(packingInput({ pods: [plain, other, own] }));

  test.each(['spread', 'affinity'] as const)('are those of the kind that select such a pod: %s', (kind) => {
    const found = selectingOthers(
      kind,
      [plain, other, own].map((each) => rulesOf(each)),
    );
    expect(text([...found])).toEqual([`${kind} ${zone} plain`, `${kind} ${hostname} plain`]);
  });

  test('are none where each selected pod has the rule', () => {
    expect(selectingOthers('spread', [rulesOf(other), rulesOf(own)])).toEqual(new Set());
  });
});

describe('topology rules that may exclude a domain', () => {
  const own = withEveryKind('own', 'own');
  const { rulesOf } = topologyOf(packingInput({ pods: [own] }));
  const { matched, ...ofOwn } = rulesOf(own);
  const none = { spread: [], affinity: [], antiAffinity: [], hostAffinity: [], matched: [] };
  const matching = (kind: Group['kind'], key: string): readonly Group[] =>
    matched.filter((group) => group.kind === kind && group.key === key);
  const excluding = ['spread', 'affinity', 'antiAffinity', 'hostAffinity'] as const;

  test("are a pod's spread, affinity and anti-affinity by domain, and affinity by host", () => {
    expect(mayExcludeDomains(none)).toBe(false);
    for (const list of excluding) expect(mayExcludeDomains({ ...none, [list]: ofOwn[list] })).toBe(true);
  });

  test('are also several of these together', () => {
    const pairs = excluding.flatMap((one) => excluding.map((other) => [one, other] as const));
    for (const [one, other] of pairs)
      expect(mayExcludeDomains({ ...none, [one]: ofOwn[one], [other]: ofOwn[other] })).toBe(true);
  });

  test('are not spread and anti-affinity by host', () => {
    const { hostSpread, hostAntiAffinity } = ofOwn;
    expect([hostSpread.length, hostAntiAffinity.length]).toEqual([1, 1]);
    expect(mayExcludeDomains({ ...none, ...{ hostSpread, hostAntiAffinity } })).toBe(false);
  });

  test.each<[Group['kind'], string, boolean]>([
    ['antiAffinity', zone, true],
    ['antiAffinity', hostname, false],
    ['affinity', zone, false],
    ['affinity', hostname, false],
    ['spread', zone, false],
    ['spread', hostname, false],
  ])('where others have %s by %s that selects them: %s', (kind, key, mayExclude) => {
    expect(matching(kind, key)).toHaveLength(1);
    expect(mayExcludeDomains({ ...none, matched: matching(kind, key) })).toBe(mayExclude);
  });

  test('include the anti-affinity of others among rules that only count the pods', () => {
    expect(mayExcludeDomains({ ...none, matched })).toBe(true);
  });
});
