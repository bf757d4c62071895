import { describe, expect, test } from '@jest/globals';
import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod, type PodOptions } from '../../test/builders/packing-fixtures.js';
import { topologyOf } from '../../test/builders/topology.js';
import { exclusionsOf } from './exclusions.js';
import type { Part } from './part.js';

const { hostname, zone } = labels;

/** Which pods a part has, by name: each name is a pod of its own, or several equal ones. */
interface PartOptions {
  readonly members: readonly (Pod | readonly Pod[])[];
  readonly together?: boolean;
}

/** Caps as `a+b<=1` and conflicts as `a|b`, by the names of the parts. */
function textsOf(parts: Readonly<Record<string, Pod | PartOptions>>) {
  const names = Object.keys(parts);
  const given = Object.values(parts).map((part): PartOptions => ('spec' in part ? { members: [part] } : part));
  const lists = given.map(({ members }) => members.map((member): readonly Pod[] => [member].flat() as readonly Pod[]));
  const { compiled, book } = topologyOf(packingInput({ pods: lists.flat(2) }));
  const made = given.map(({ together = false }, i): Part => ({
    members: lists[i]!.map((pods) => {
      const podClass = compiled.classes.all.find((each) => each.pods.includes(pods[0]!))!;
      return { podClass, level: compiled.levelsByShape[podClass.shape.index]![0]!, pods };
    }),
    together,
    profiles: [],
    pinnedKeys: [],
    demand: new Float64Array(0),
    count: 1,
  }));
  const { caps, conflicts } = exclusionsOf(made, book);
  const pairs = conflicts.map((pair) => pair.map((item) => names[item]!).sort());
  return {
    caps: caps.map(({ items, max }) => `${[...items].map((item) => names[item]!).join('+')}<=${max}`).sort(),
    conflicts: [...new Set(pairs.map((pair) => pair.join('|')))].sort(),
  };
}

const selector = (tier: string) => ({ matchLabels: { tier } });
const spread = (tier: string, maxSkew = 1, topologyKey: string = hostname): TopologySpreadConstraint => ({
  maxSkew,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: selector(tier),
});
const required = (
  tier: string,
  topologyKey: string,
): { requiredDuringSchedulingIgnoredDuringExecution: PodAffinityTerm[] } => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: selector(tier) }],
});

/** A pod of a tier, with rules. The name makes it a class of its own. */
const own = (
  name: string,
  tier: string,
  { spreads = [] as TopologySpreadConstraint[], ...more }: PodOptions & { spreads?: TopologySpreadConstraint[] } = {},
) =>
  pod(name, {
    labels: { tier },
    ...(spreads.length > 0 && { topologySpreadConstraints: spreads }),
    ...more,
  });
const away = (tier: string, topologyKey: string = hostname) => ({
  affinity: { podAntiAffinity: required(tier, topologyKey) },
});

describe('exclusions by a spread over hosts (topology/spread)', () => {
  test('are a cap on the pods that have the rule and that it selects', () => {
    const spreads = [spread('web', 2)];
    const web = own('web', 'web', { spreads });
    const large = own('large', 'web', { spreads, cpu: '2' });
    const stranger = own('stranger', 'db', { spreads });
    const plain = own('plain', 'web');
    expect(textsOf({ web, stranger, plain, large })).toEqual({ caps: ['web+large<=2'], conflicts: [] });
  });

  test('are none where no pod both has it and is selected, or where it is over zones', () => {
    const web = own('web', 'web', { spreads: [spread('web')] });
    const stranger = own('stranger', 'db', { spreads: [spread('web')] });
    expect(textsOf({ web, stranger })).toEqual({ caps: ['web<=1'], conflicts: [] });
    const zonal = own('zonal', 'web', { spreads: [spread('web', 1, zone)] });
    expect(textsOf({ stranger, zonal })).toEqual({ caps: [], conflicts: [] });
  });

  test('keep a bundle with several such pods alone on its node', () => {
    const spreads = [spread('web', 2)];
    const [one, two] = [own('one', 'web', { spreads }), own('two', 'web', { spreads })];
    const large = own('large', 'web', { spreads, cpu: '2' });
    const bundle = (...members: Pod[]) => ({ members: [members], together: true });
    expect(textsOf({ bundle: bundle(one, two), large })).toEqual({
      caps: ['bundle+large<=2'],
      conflicts: ['bundle|large'],
    });
    expect(textsOf({ bundle: bundle(one), large })).toEqual({ caps: ['bundle+large<=2'], conflicts: [] });
    expect(textsOf({ separate: { members: [[one, two]] }, large })).toEqual({
      caps: ['separate+large<=2'],
      conflicts: [],
    });
  });

  test("add up the pods of a bundle's members, without those that it does not select", () => {
    const spreads = [spread('web', 3)];
    const one = own('one', 'web', { spreads });
    const other = own('other', 'web', { spreads, cpu: '2' });
    const stranger = own('stranger', 'db', { spreads });
    const large = own('large', 'web', { spreads, cpu: '3' });
    const bundle = (...members: Pod[]) => ({ members, together: true });
    expect(textsOf({ bundle: bundle(one, other), large }).conflicts).toEqual(['bundle|large']);
    expect(textsOf({ bundle: bundle(one, stranger), large }).conflicts).toEqual([]);
    expect(textsOf({ bundle: bundle(one, other), large }).caps).toEqual(['bundle+large<=3']);
  });
});

describe('exclusions by anti-affinity by host name', () => {
  test('of pods to their like are a cap of one', () => {
    const web = own('web', 'web', away('web'));
    const large = own('large', 'web', { ...away('web'), cpu: '2' });
    expect(textsOf({ web, large })).toEqual({ caps: ['web+large<=1'], conflicts: [] });
  });

  test('to others are a conflict with each class that it selects', () => {
    const shy = own('shy', 'db', away('web'));
    const web = own('web', 'web');
    const large = own('large', 'web', { cpu: '2' });
    const db = own('other', 'db');
    expect(textsOf({ shy, web, large, db })).toEqual({ caps: [], conflicts: ['large|shy', 'shy|web'] });
  });

  test('of pods that it selects themselves are a conflict only with pods without the rule', () => {
    const web = own('web', 'web', away('web'));
    const large = own('large', 'web', { ...away('web'), cpu: '2' });
    const plain = own('plain', 'web', { cpu: '3' });
    const shy = own('shy', 'db', away('web'));
    expect(textsOf({ web, plain, shy, large })).toEqual({
      caps: ['web+large<=1'],
      conflicts: ['large|plain', 'large|shy', 'plain|shy', 'plain|web', 'shy|web'],
    });
  });

  test('within a bundle are no conflict of the bundle with itself', () => {
    const shy = own('shy', 'db', away('web'));
    const web = own('web', 'web');
    expect(
      textsOf({ bundle: { members: [shy, web], together: true }, large: own('large', 'web', { cpu: '2' }) }),
    ).toEqual({
      caps: ['bundle<=1'],
      conflicts: ['bundle|large'],
    });
  });

  test('over zones are none on a host', () => {
    expect(textsOf({ shy: own('shy', 'db', away('web', zone)), web: own('web', 'web') })).toEqual({
      caps: [],
      conflicts: [],
    });
  });
});

test('affinity by host name excludes no pods from a host', () => {
  const fond = own('fond', 'web', { affinity: { podAffinity: required('web', hostname) } });
  expect(textsOf({ fond, web: own('web', 'web') })).toEqual({ caps: [], conflicts: [] });
});

describe('exclusions by different spreads over hosts that select each other', () => {
  const both = (tier: string) => ({ labels: { tier, all: 'yes' } });
  const overAll = (maxSkew: number): TopologySpreadConstraint => ({
    ...spread('any', maxSkew),
    labelSelector: { matchLabels: { all: 'yes' } },
  });

  test('with the larger skew bound the pods of both', () => {
    const wide = pod('wide', { ...both('wide'), topologySpreadConstraints: [overAll(3)] });
    const tight = pod('tight', { ...both('tight'), topologySpreadConstraints: [overAll(2)] });
    expect(textsOf({ wide, tight })).toEqual({ caps: ['tight<=2', 'wide+tight<=3', 'wide<=3'], conflicts: [] });
    expect(textsOf({ tight, wide })).toEqual({ caps: ['tight+wide<=3', 'tight<=2', 'wide<=3'], conflicts: [] });
  });

  test('of equal skew bound each other', () => {
    const first = pod('first', { ...both('first'), topologySpreadConstraints: [overAll(2)] });
    const second = pod('second', {
      ...both('second'),
      topologySpreadConstraints: [{ ...overAll(2), nodeTaintsPolicy: 'Honor' }],
    });
    expect(textsOf({ first, second }).caps).toEqual(['first+second<=2', 'first+second<=2', 'first<=2', 'second<=2']);
  });

  test('share one cap with all tighter ones', () => {
    const wide = pod('wide', { ...both('wide'), topologySpreadConstraints: [overAll(3)] });
    const tight = pod('tight', { ...both('tight'), topologySpreadConstraints: [overAll(2), spread('tight', 5)] });
    const tightest = pod('tightest', { ...both('tightest'), topologySpreadConstraints: [overAll(1)] });
    expect(textsOf({ wide, tight, tightest }).caps).toEqual([
      'tight+tightest<=2',
      'tight<=2',
      'tight<=5',
      'tightest<=1',
      'wide+tight+tightest<=3',
      'wide<=3',
    ]);
  });

  test('are not made by anti-affinity', () => {
    const wide = pod('wide', { ...both('wide'), topologySpreadConstraints: [overAll(3)] });
    const { requiredDuringSchedulingIgnoredDuringExecution: terms } = required('any', hostname);
    const term = { ...terms[0]!, labelSelector: { matchLabels: { all: 'yes' } } };
    const shy = pod('shy', {
      ...both('shy'),
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    });
    expect(textsOf({ wide, shy })).toEqual({ caps: ['shy<=1', 'wide<=3'], conflicts: ['shy|wide'] });
  });

  test('leave a rule alone that selects no pod of the other', () => {
    const wide = pod('wide', { ...both('wide'), topologySpreadConstraints: [overAll(3)] });
    const tight = pod('tight', { ...both('tight'), topologySpreadConstraints: [spread('tight', 2)] });
    expect(textsOf({ wide, tight })).toEqual({ caps: ['tight<=2', 'wide<=3'], conflicts: [] });
  });

  test('share a cap among pods that the tighter rule selects, and not with others', () => {
    const wide = pod('wide', { ...both('narrow'), topologySpreadConstraints: [overAll(3)] });
    const wider = pod('wider', { ...both('other'), topologySpreadConstraints: [overAll(3)] });
    const tight = pod('tight', { ...both('narrow'), topologySpreadConstraints: [spread('narrow', 2)] });
    expect(textsOf({ wide, wider, tight })).toEqual({
      caps: ['tight<=2', 'wide+tight<=3', 'wide+wider<=3'],
      conflicts: [],
    });
  });

  test('keep a bundle of several pods off nodes with pods of the other rule', () => {
    const wide = (name: string) => pod(name, { ...both('wide'), topologySpreadConstraints: [overAll(3)] });
    const tight = pod('tight', { ...both('tight'), topologySpreadConstraints: [overAll(2)] });
    const bundle = { members: [[wide('one'), wide('two')]], together: true };
    expect(textsOf({ bundle, tight }).conflicts).toEqual(['bundle|tight']);
  });

  test('make no conflict of a bundle with itself', () => {
    const topologySpreadConstraints = [overAll(3), spread('web', 2)];
    const web = (name: string) => pod(name, { ...both('web'), topologySpreadConstraints });
    const bundle = { members: [[web('one'), web('two')]], together: true };
    expect(textsOf({ bundle, plain: pod('plain', both('db')) }).conflicts).toEqual([]);
  });
});

describe('exclusions by host ports (scheduling/host-ports)', () => {
  const using = (name: string, ...ports: { hostPort: number; hostIP?: string }[]) =>
    pod(name, { containers: [{ name: 'main', ports }] });

  test('on all addresses are a cap of one for each port', () => {
    const first = using('first', { hostPort: 80 });
    const second = using('second', { hostPort: 80 }, { hostPort: 81 });
    const third = using('third', { hostPort: 82 });
    expect(textsOf({ first, plain: pod('plain'), second, third })).toEqual({
      caps: ['first+second<=1', 'second<=1', 'third<=1'],
      conflicts: [],
    });
  });

  test('on different addresses conflict only where they overlap', () => {
    const one = using('one', { hostPort: 80, hostIP: '10.0.0.1' });
    const two = using('two', { hostPort: 80, hostIP: '10.0.0.2' });
    const all = using('all', { hostPort: 80 });
    expect(textsOf({ one, two, all })).toEqual({
      caps: ['all<=1', 'one<=1', 'two<=1'],
      conflicts: ['all|one', 'all|two'],
    });
    expect(textsOf({ one, all })).toEqual({ caps: ['one+all<=1'], conflicts: [] });
  });

  test('differ by port number', () => {
    const one = using('one', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 81 });
    const two = using('two', { hostPort: 80, hostIP: '10.0.0.2' }, { hostPort: 81 });
    expect(textsOf({ one, two })).toEqual({ caps: ['one+two<=1', 'one<=1', 'two<=1'], conflicts: [] });
  });

  test('count for all members of a bundle', () => {
    const bundle = {
      members: [pod('plain'), using('one', { hostPort: 80 }), using('two', { hostPort: 81 })],
      together: true,
    };
    expect(textsOf({ bundle, other: using('other', { hostPort: 81 }, { hostPort: 82 }) }).caps).toEqual([
      'bundle+other<=1',
      'bundle<=1',
      'other<=1',
    ]);
  });
});
