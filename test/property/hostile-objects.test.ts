import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import { generate } from '../cases/index.js';
import type { Case } from '../cases/index.js';
import { plan } from '../../packing/plan.js';
import type { Plan } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';

// Legal but unusual objects beside ordinary ones: every ordinary pod is still placed.
fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });

const name = fc.constantFrom('constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', '__proto__', 'a');
const illegal = fc.constantFrom('not a label!', 'x'.repeat(64), '', 'é');
const value = fc.oneof(name, illegal);
const expression = fc.record({
  key: name,
  operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt'),
  values: fc.array(value, { maxLength: 3 }),
});
const selector = fc.record({ matchLabels: fc.dictionary(name, name, { maxKeys: 2 }) });
const podTerm = fc.record({ labelSelector: selector, topologyKey: name });

const hostileSpec = fc.record(
  {
    nodeSelector: fc.dictionary(name, name, { maxKeys: 2 }),
    tolerations: fc.array(fc.record({ key: name, operator: fc.constant('Exists') }), { maxLength: 2 }),
    topologySpreadConstraints: fc.array(
      fc.record({
        maxSkew: fc.constant(1),
        topologyKey: name,
        whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'ScheduleAnyway'),
        labelSelector: selector,
      }),
      { maxLength: 2 },
    ),
    affinity: fc.record(
      {
        nodeAffinity: fc.record({
          preferredDuringSchedulingIgnoredDuringExecution: fc.array(
            fc.record({
              weight: fc.constant(1),
              preference: fc.record({ matchExpressions: fc.array(expression, { maxLength: 2 }) }),
            }),
            { maxLength: 30 },
          ),
        }),
        podAntiAffinity: fc.record({
          requiredDuringSchedulingIgnoredDuringExecution: fc.array(podTerm, { maxLength: 2 }),
        }),
        podAffinity: fc.record({
          preferredDuringSchedulingIgnoredDuringExecution: fc.array(
            fc.record({ weight: fc.constant(1), podAffinityTerm: podTerm }),
            { maxLength: 2 },
          ),
        }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const hostilePods = fc.array(
  fc.record({
    spec: hostileSpec,
    labels: fc.dictionary(name, name, { maxKeys: 2 }),
    requests: fc.dictionary(name, fc.constant('1'), { maxKeys: 2 }),
  }),
  { minLength: 1, maxLength: 8 },
);

const podOf = (name: string, spec: object, labels: Record<string, string> = {}): KubernetesObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'hostile', uid: name, labels, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec,
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  }) as KubernetesObject;

const ordinaryPods = ({ objects }: Case): string[] =>
  objects
    .filter(({ kind }) => kind === 'Pod')
    .filter((pod) => ((pod as Pod).spec.nodeName ?? '') === '')
    .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`)
    .sort();

const placed = ({ newNodeClaims, existingNodes }: Plan): Set<string> =>
  new Set([...newNodeClaims, ...existingNodes].flatMap(({ pods }) => pods));

const planWith = (made: Case, more: readonly KubernetesObject[]): Plan =>
  plan(packingInputOf({ ...made, objects: [...made.objects, ...more] }));

describe('hostile objects', () => {
  // Rule `invariants/failures-are-contained`.
  test('names such as `__proto__`, illegal values and dozens of preferences keep no ordinary pod from being placed', () => {
    const made = generate('benchmark-mix', 40, 7);
    const alone = placed(plan(packingInputOf(made)));
    const ordinary = ordinaryPods(made).filter((pod) => alone.has(pod));
    expect(ordinary.length).toBeGreaterThan(30);
    fc.assert(
      fc.property(hostilePods, (hostile) => {
        const pods = hostile.map(({ spec, labels, requests }, i) =>
          podOf(
            `h${i}`,
            { ...spec, containers: [{ name: 'c', resources: { requests: { cpu: '100m', ...requests } } }] },
            labels,
          ),
        );
        const result = planWith(made, pods);

        const there = placed(result);
        expect(ordinary.filter((pod) => !there.has(pod))).toEqual([]);
        expect(result.setAside).toBeUndefined();
        for (const { requirements, labels } of result.newNodeClaims) {
          const values = [...requirements.flatMap((each) => each.values ?? []), ...Object.values(labels)];
          expect(
            values.filter((each) => !/^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(each) || each.length > 63),
          ).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test.each<readonly [string, object]>([
    ['containers that are none', { containers: null }],
    ['a selector with a number', { containers: [{ name: 'c' }], nodeSelector: { a: 5 } }],
    ['requests that do not parse', { containers: [{ name: 'c', resources: { requests: { cpu: 'lots' } } }] }],
    ['an affinity that is a text', { containers: [{ name: 'c' }], affinity: { nodeAffinity: 'x' } }],
  ])('a pod with %s is reported as unplaced, and all others are placed', (_what, spec) => {
    const made = generate('benchmark-mix', 40, 7);
    const alone = placed(plan(packingInputOf(made)));

    const result = planWith(made, [podOf('broken', spec)]);

    const there = placed(result);
    expect(ordinaryPods(made).filter((pod) => alone.has(pod) && !there.has(pod))).toEqual([]);
    const reported = result.unschedulable.find(({ pod }) => pod === 'hostile/broken');
    expect(there.has('hostile/broken') || reported !== undefined).toBe(true);
  });

  // Rule `scheduling/objects-left-out`.
  test('an unreadable instance type, volume claim or node is left out and named', () => {
    const made = generate('realistic-nodes', 40, 3);
    const input = packingInputOf(made);
    const [pool, types] = [...input.catalogues][0]!;
    const broken = { ...types[0]!, name: 'broken.type', requirements: null as never };
    const catalogues = new Map([...input.catalogues, [pool, [...types, broken]]]);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'broken-node', labels: {} }, spec: { taints: 5 } };
    const nodes = [...(input.objects.nodes ?? []), node as never];

    const result = plan({ ...input, catalogues, objects: { ...input.objects, nodes } });

    expect(result.setAside?.map(({ kind, name: found }) => [kind, found]).sort()).toEqual([
      ['Node', 'broken-node'],
      ['instance type', 'broken.type'],
    ]);
    const without = plan(input);
    expect(result.pricePerHour).toBe(without.pricePerHour);
  });
});
