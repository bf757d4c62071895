import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createDisruptionActivities } from '../../activities/disruption/disruption.js';
import { createPlanningActivities } from '../../activities/provisioning/planning.js';
import { explainNode } from '../../activities/people/explanations.js';
import type { PlanNodesResult } from '../../activities/provisioning/contract.js';
import { annotations, labels } from '../../api/labels.js';
import { createActivityWorld, nodeClaim, nodeClass, nodePool, ready } from '../builders/activity-world.js';
import { editedText } from './fuzz/mutations.js';

const at = Date.parse('2026-01-05T12:00:00Z');
const samples = [
  ...['true', 'false', '', '30m', '720h', 'default/a,default/b', '2026-01-05T13:00:00Z', '1e9', '-1', 'v4', '12345'],
  ...[`{"kind":"spot_interruption","at":${at},"endsAt":${at + 120_000}}`, `{"kind":"x","at":${at}}`],
  ...['[{"shape":"s","pod":"a/b","nodes":["n"],"message":"m","times":1,"at":1,"until":1e15}]', '[1,1,0]'],
  ...[`{"generation":1,"times":1,"until":${at + 9e9},"message":"m","pods":["default/plain"]}`, '{"outcomes":"111"}'],
  ...[
    `{"past":[{"at":${at},"reason":"Empty"}],"rejected":[{"id":"x","until":1}]}`,
    '{"reason":"Empty","for":"a","since":1}',
  ],
  ...[
    '{"spec":{"requirements":[]}}',
    '{"hash":"1","at":1,"why":"x"}',
    '[]',
    '{}',
    'null',
    '[null]',
    '{"__proto__":{"a":1}}',
  ],
];
const every = fc.dictionary(fc.constantFrom(...Object.values(annotations)), editedText(...samples), { maxKeys: 8 });
const kinds = ['Node', 'NodeClaim', 'NodePool', 'Pod', 'EC2NodeClass'] as const;

// With any value of the annotations that Stowage and Karpenter read the other pod is planned for, the empty
// node is found or named with its blocker, and nothing fails. Rules `invariants/failures-are-contained`,
// `labels/what-is-believed`.
test('annotations of any content on any object keep no other pod from its plan, and no decision fails', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(Object.fromEntries(kinds.map((kind) => [kind, every]))), async (own) => {
      const world = await createActivityWorld();
      try {
        const put = (kind: (typeof kinds)[number], object: { metadata: object }): void => {
          const metadata: { annotations?: object } = object.metadata;
          world.kube.put(kind, {
            ...object,
            metadata: { ...metadata, annotations: { ...metadata.annotations, ...own[kind] } },
          });
        };
        world.kube.put('NodePool', ready(nodePool('plain', { disruption: { consolidateAfter: '0s' } })));
        put('EC2NodeClass', nodeClass('default'));
        put('NodePool', ready(nodePool('default', { disruption: { consolidateAfter: '0s' } })));
        const initialized = {
          type: 'Initialized',
          status: 'True' as const,
          lastTransitionTime: '2026-01-05T11:00:00Z',
        };
        const claim = nodeClaim('a', { status: { providerID: 'fake:///a/i', conditions: [initialized] } });
        const typeLabels = {
          ...claim.metadata.labels,
          [labels.instanceType]: 'm5.xlarge',
          [labels.zone]: 'a',
          [labels.capacityType]: 'spot',
        };
        put('NodeClaim', { ...claim, metadata: { ...claim.metadata, labels: typeLabels } });
        put('Node', {
          ...{ metadata: { name: 'n', labels: typeLabels }, spec: { providerID: 'fake:///a/i' } },
          ...{
            status: {
              conditions: [{ type: 'Ready', status: 'True' }],
              allocatable: { cpu: '1', memory: '1Gi', pods: '9' },
            },
          },
        });
        const pod = (name: string): { metadata: object } => ({
          metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-05T11:00:00Z' },
          ...{ spec: { containers: [{ name: 'c', resources: { requests: { cpu: '3' } } }] } },
          ...{
            status: {
              phase: 'Pending',
              conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
            },
          },
        });
        put('Pod', pod('strange'));
        world.kube.put('Pod', pod('plain') as never);
        await world.synced();

        const planning = createPlanningActivities(world.deps);
        const planned = await new MockActivityEnvironment().run<[], PlanNodesResult, () => Promise<PlanNodesResult>>(
          () => planning.planNodes({ marks: [], without: [] }),
        );
        expect(planned).toMatchObject({ state: 'planned' });
        expect(JSON.stringify('claims' in planned ? planned.claims : [])).toContain('default/plain');
        const found = await createDisruptionActivities(world.deps).findDisruptions({ commands: [] });
        const said = await explainNode(world.deps, { node: 'n', view: { commands: [] } });
        expect(JSON.stringify([found, said])).not.toMatch(/TypeError|is not a function|Cannot read|undefined is/);
      } finally {
        world.stop();
      }
    }),
    { numRuns: Number(process.env['STOWAGE_FUZZ_CASES'] ?? 3000) / 30 },
  );
});
