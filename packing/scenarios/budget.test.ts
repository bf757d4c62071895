import { afterEach, expect, jest, test } from '@jest/globals';
import type { Pod, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { Assigner } from '../place/assigner.js';
import { plan } from '../plan.js';
import type { Plan, Resume } from '../types.js';
import { fullName } from '../../core/names.js';

afterEach(() => void jest.restoreAllMocks());

const spread = (app: string): PodSpec['topologySpreadConstraints'] => [
  { maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app } } },
];
const ordinary = Array.from({ length: 100 }, (_, n) => {
  const app = `app-${n % 20}`;
  return pod(`ordinary-${n}`, { cpu: `${500 + (n % 20) * 10}m`, labels: { app }, topologySpreadConstraints: spread(app) });
}); // prettier-ignore

const count = 1000;
const list = <T>(make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const weight = (n: number): number => 1 + (n % 100);

/** Of each kind of preference. None can be met, so that all have to be given up. */
const preferring: readonly ((name: string) => Partial<PodSpec>)[] = [
  (name) => ({
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: list((n) => ({
          weight: weight(n),
          preference: { matchExpressions: [{ key: `example.com/${name}-${n}`, operator: 'Exists' }] },
        })),
      },
    },
  }),
  (name) => ({
    affinity: {
      podAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: list((n) => ({
          weight: weight(n),
          podAffinityTerm: { topologyKey: labels.zone, labelSelector: { matchLabels: { app: `${name}-${n}` } } },
        })),
      },
    },
  }),
  () => ({
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: list((n) => ({
          weight: weight(n),
          podAffinityTerm: {
            topologyKey: labels.zone,
            labelSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`a-${n}`] }] },
          },
        })),
      },
    },
  }),
  (name) => ({
    topologySpreadConstraints: list((n) => ({
      maxSkew: 1,
      topologyKey: `example.com/${name}-${n}`,
      whenUnsatisfiable: 'ScheduleAnyway',
    })),
  }),
];
const hostile = Array.from({ length: 20 }, (_, n) => {
  const name = `hostile-${String(n).padStart(2, '0')}`;
  return pod(name, { cpu: '1', ...preferring[n % preferring.length]!(name) });
});

/** Attempts to place pods, and candidates looked at for that. */
function counted(pods: readonly Pod[]): { readonly result: Plan; readonly work: number } {
  const place = jest.spyOn(Assigner.prototype, 'place');
  const allows = jest.spyOn(Assigner.prototype, 'allows');
  const result = plan(packingInput({ pods }));
  const work = place.mock.calls.length + allows.mock.calls.length;
  jest.restoreAllMocks();
  return { result, work };
}

const placedIn = ({ newNodeClaims, existingNodes }: Plan): Set<string> =>
  new Set([...newNodeClaims, ...existingNodes].flatMap(({ pods }) => pods));

test('pods with a thousand preferences delay no ordinary pod, and take no more of a pass than those', () => {
  const alone = counted(ordinary);
  const beside = counted([...ordinary, ...hostile]);
  const placed = placedIn(beside.result);
  expect(ordinary.filter((each) => !placed.has(fullName(each)))).toEqual([]);
  expect(beside.result.unschedulable).toEqual([]);
  expect(beside.work).toBeLessThanOrEqual(2 * alone.work);
  expect(alone.work).toBeGreaterThan(300);
});

test('each pass begins where the last one ended, until every pod is placed', () => {
  let pods: readonly Pod[] = [...ordinary, ...hostile];
  let resume: Resume | undefined;
  let passes = 0;
  do {
    const input = packingInput({ pods });
    const result = plan(resume === undefined ? input : { ...input, resume });
    const placed = placedIn(result);
    expect(placed.size).toBeGreaterThan(0);
    expect((result.deferred ?? []).some((name) => placed.has(name))).toBe(false);
    pods = pods.filter((each) => !placed.has(fullName(each)));
    expect([...(result.deferred ?? [])]).toEqual(pods.map(fullName).sort());
    ({ resume } = result);
    passes++;
  } while (resume !== undefined);
  expect(pods).toEqual([]);
  expect(passes).toBe(3);
});

test('with pods beyond the budget the plan is the same in whatever order they come', () => {
  const pods = [...ordinary, ...hostile];
  expect(plan(packingInput({ pods: [...pods].reverse() }))).toEqual(plan(packingInput({ pods })));
});

test('a plan lists the pods whose preferences it ignores for their number, and none where the policy ignores all', () => {
  const some = hostile.slice(0, 2);
  const outcome = plan(packingInput({ pods: [...some, pod('plain')] }));
  expect(outcome.ignoredPreferences).toEqual(
    some.map((each) => ({ pod: fullName(each), honoured: 20, ignored: count - 20 })),
  );
  expect(plan(packingInput({ pods: some }, { settings: { preferencePolicy: 'Ignore' } }))).not.toHaveProperty(
    'ignoredPreferences',
  );
});

test('the last of a thousand required terms is found, and terms for labels that no node has cost as much as one', () => {
  const terms = list((n) => ({ matchExpressions: [{ key: `example.com/rack-${n}`, operator: 'Exists' as const }] }));
  const last = { matchExpressions: [{ key: labels.zone, operator: 'In' as const, values: ['zone-b'] }] };
  const affinity = {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...terms, last] } },
  };
  const { newNodeClaims, unschedulable } = plan(packingInput({ pods: [pod('a', { affinity })] }));
  expect(unschedulable).toEqual([]);
  expect(newNodeClaims.map(({ cheapest }) => cheapest.zone)).toEqual(['zone-b']);
});
