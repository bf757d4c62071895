import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Pod, TopologySpreadConstraint, Workload } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { type Case, type Kind, generate } from '../cases/index.js';
import { plan } from '../../packing/plan.js';
import type { PackingInput, PackingSettings } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import { checkPlan } from '../checker/check.js';

fc.configureGlobal({ seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) });
const seeds = fc.integer({ min: 1, max: 1_000_000 });

type Defaults = NonNullable<PackingSettings['defaultTopologySpread']>;
const whenUnsatisfiable = fc.constantFrom('DoNotSchedule' as const, 'ScheduleAnyway' as const);
const maxSkew = fc.integer({ min: 1, max: 3 });
const over = (topologyKey: string) => fc.record({ maxSkew, topologyKey: fc.constant(topologyKey), whenUnsatisfiable });
const defaults: fc.Arbitrary<Defaults> = fc.oneof(
  fc.tuple(over(labels.zone)),
  fc.tuple(over(labels.hostname)),
  fc.tuple(over(labels.zone), over(labels.hostname)),
);

const ownerLabel = 'example.com/owner';
const owners = ['one', 'two', 'three'];

/** The case with every pod in one of three ReplicaSets, but for each fourth, which has no owner. */
function owned({ objects, catalogue }: Case): Case {
  let next = 0;
  const items = objects.map((object) => {
    const owner = object.kind === 'Pod' ? owners[next++ % (owners.length + 1)] : undefined;
    if (owner === undefined) return object;
    const { metadata } = object;
    const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true };
    return {
      ...object,
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, [ownerLabel]: owner },
        ownerReferences: [reference],
      },
    };
  });
  return { objects: items, catalogue };
}

const selectorOf = (owner: string) => ({ matchLabels: { [ownerLabel]: owner } });

function withDefaults(input: PackingInput, defaultTopologySpread: Defaults): PackingInput {
  const namespaces = new Set(input.objects.pods.map(({ metadata }) => metadata.namespace ?? 'default'));
  const replicaSets: Workload[] = [...namespaces].flatMap((namespace) =>
    owners.map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name, namespace },
      spec: { selector: selectorOf(name), template: { spec: { containers: [] } } },
    })),
  );
  return {
    ...input,
    objects: { ...input.objects, replicaSets },
    settings: { ...input.settings, defaultTopologySpread },
  };
}

/** The case with the constraints written into each pod that has an owner and no constraints. */
function writtenOut(made: Case, constraints: Defaults): Case {
  const objects = made.objects.map((object) => {
    const owner = object.metadata.labels?.[ownerLabel];
    if (object.kind !== 'Pod' || owner === undefined) return object;
    const pod = object as Pod;
    if ((pod.spec.topologySpreadConstraints ?? []).length > 0) return pod;
    const own: TopologySpreadConstraint[] = constraints.map((each) => ({ ...each, labelSelector: selectorOf(owner) }));
    return { ...pod, spec: { ...pod.spec, topologySpreadConstraints: own } };
  });
  return { objects, catalogue: made.catalogue };
}

const evenly: Defaults = [labels.zone, labels.hostname].map((topologyKey) => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
}));
/** Seeds that went wrong before: pods of a workload which differ in what nodes they may use, and by that in what their spread looks at. */
const cases: readonly (readonly [kind: Kind, size: number, runs: number, examples: [number, Defaults][]])[] = [
  ['generic', 40, 10, []],
  ['realistic', 40, 6, [[247_885, evenly]]],
  ['corner', 30, 12, [[727_626, evenly]]],
];

test.each(cases)(
  'the default spread of %s cases of %d pods plans as if each pod had the constraint (provisioning/default-spread)',
  (kind, size, numRuns, examples) => {
    fc.assert(
      fc.property(seeds, defaults, (seed, constraints) => {
        const made = owned(generate(kind, size, seed));
        const result = plan(withDefaults(packingInputOf(made), constraints));
        const explicit = writtenOut(made, constraints);
        expect(result).toEqual(plan(packingInputOf(explicit)));
        const verdict = checkPlan({ items: explicit.objects }, explicit.catalogue, { engine: 'stowage', ...result });
        expect(verdict.violations).toEqual([]);
      }),
      { numRuns: numRuns + examples.length, examples },
    );
  },
);
