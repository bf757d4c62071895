import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { claimOf } from '../../activities/provisioning/claims.js';
import { claimPlans } from '../../activities/provisioning/claim-plans.js';
import { nodeClaims } from '../../api/karpenter/node-claim.js';
import { isProtectedLabel } from '../../api/karpenter/requirement-rules.js';
import type { NodeSelectorOperator, NodeSelectorRequirement, Pod } from '../../api/kubernetes.js';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import { coreWellKnownLabels, labelAliases, labels } from '../../api/labels.js';
import { plan } from '../../packing/plan.js';
import { instanceType, packingInput, pod, pool } from '../builders/packing-fixtures.js';

const types = [2, 4, 8].map((cpu) =>
  instanceType(`m${cpu}`, {
    cpu,
    labels: { 'karpenter.k8s.aws/instance-cpu': String(cpu), 'karpenter.k8s.aws/instance-family': 'm' },
  }),
);
/** What the NodePool below leaves open, says, or has as a label. */
const ofThePool = ['open.example.com/a', 'open.example.com/b', 'open.example.com/n', 'example.com/said', 'team'];
const protectedKeys = [
  'node-role.kubernetes.io/control-plane',
  'node-restriction.kubernetes.io/tenant',
  'sub.node-restriction.kubernetes.io/tenant',
  labels.excludeFromLoadBalancers,
  'foo.k8s.io/x',
];
const restricted = [
  labels.hostname,
  labels.registered,
  labels.initialized,
  'karpenter.sh/provisioner-name',
  'sub.karpenter.sh/x',
  'my-karpenter.sh/x',
  'karpenter.k8s.aws/colour',
  labels.ec2NodeClass,
];
const undefinedKeys = Array.from({ length: 120 }, (_, i) => `undefined-${i}.example.com/x`);
const wellKnown = [...coreWellKnownLabels, ...awsWellKnownLabels, ...Object.keys(labelAliases)];

const text = fc.constantFrom('a', 'b', 'true', 'false', 'default', 'zone-a', 'm4', 'spot', 'no label value!', '', 'x');
const number = fc.constantFrom('-5', '-1', '0', '1', '4', '100', '999999999999999999', '9223372036854775807');
const expression = (key: fc.Arbitrary<string>): fc.Arbitrary<NodeSelectorRequirement> =>
  fc.oneof(
    fc.record({
      key,
      operator: fc.constantFrom<NodeSelectorOperator>('In', 'NotIn'),
      values: fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ key, operator: fc.constantFrom<NodeSelectorOperator>('Exists', 'DoesNotExist') }),
    fc.record({ key, operator: fc.constantFrom<NodeSelectorOperator>('Gt', 'Lt'), values: fc.tuple(number) }),
  );
const some = fc.constantFrom(...wellKnown, ...restricted, ...protectedKeys, ...ofThePool, ...undefinedKeys.slice(0, 5));
/** Nodes that are to be unlike these: such pods get a place, so that their claims are seen. */
const satisfiable = (key: string): fc.Arbitrary<NodeSelectorRequirement> =>
  fc.constantFrom<NodeSelectorRequirement>(
    { key, operator: 'NotIn', values: ['nothing'] },
    { key, operator: 'Gt', values: ['-5'] },
    { key, operator: 'Lt', values: ['9223372036854775807'] },
    { key, operator: 'Exists' },
    ...(ofThePool.includes(key) ? [] : [{ key, operator: 'DoesNotExist' } as const]),
  );
const many: fc.Arbitrary<NodeSelectorRequirement[]> = fc
  .shuffledSubarray([...undefinedKeys, ...restricted, ...wellKnown, ...protectedKeys, ...ofThePool])
  .chain((keys) =>
    fc.tuple(
      ...keys.map((key) =>
        fc.oneof(
          { weight: 4, arbitrary: fc.constant<NodeSelectorRequirement>({ key, operator: 'NotIn', values: ['no'] }) },
          { weight: 1, arbitrary: satisfiable(key) },
        ),
      ),
    ),
  );
const expressions: fc.Arbitrary<NodeSelectorRequirement[]> = fc.oneof(
  fc.array(expression(some), { minLength: 1, maxLength: 3 }),
  some.chain((key) => fc.tuple(satisfiable(key))),
  many,
);

const asking = (matchExpressions: readonly NodeSelectorRequirement[], i: number): Pod =>
  pod(`p${i}`, {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [...matchExpressions] }],
        },
      },
    },
  });

const plain = pool('default', {
  labels: { team: 'red' },
  requirements: [
    { key: 'open.example.com/a', operator: 'Exists' },
    { key: 'open.example.com/b', operator: 'NotIn', values: ['a'] },
    { key: 'open.example.com/n', operator: 'Gt', values: ['3'] },
    { key: 'example.com/said', operator: 'In', values: ['a', 'b'] },
    { key: labels.excludeFromLoadBalancers, operator: 'NotIn', values: ['true'] },
  ],
});
/** As many labels and requirements as a NodePool may have. */
const full = pool('default', {
  labels: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`label-${i}`, 'x'])),
  requirements: Array.from({ length: 100 }, (_, i) => ({ key: `open-${i}`, operator: 'Exists' as const })),
});

// Rules `node-claims/defined-keys`, `labels/protected-domains`.
describe.each([
  ['a few labels', plain, 300],
  ['as many labels and requirements as it may have', full, 40],
])('NodeClaims planned for random pods of a NodePool with %s', (_, nodePool, numRuns) => {
  const claimsFor = (asked: readonly (readonly NodeSelectorRequirement[])[]) => {
    const input = packingInput(
      { pods: [...asked.map(asking), pod('ordinary')], nodePools: [nodePool] },
      { types, settings: { wellKnownLabels: awsWellKnownLabels } },
    );
    const result = plan(input);
    const { claims, typeLists } = claimPlans(result.newNodeClaims, 1000);
    const written = claims.map((each, i) => claimOf(each, nodePool, typeLists, { name: `c${i}`, key: `${i}` }));
    return { result, written };
  };
  const ofNodePool = new Set([
    ...Object.keys(nodePool.spec.template.metadata?.labels ?? {}),
    ...nodePool.spec.template.spec.requirements.map(({ key }) => key),
    labels.ec2NodeClass,
  ]);

  test("pass the API server's validation, take no label from a pod alone, and leave room for an ordinary pod", () => {
    let placed = 0;
    fc.assert(
      fc.property(fc.array(expressions, { minLength: 1, maxLength: 3 }), (asked) => {
        const { result, written } = claimsFor(asked);
        placed += result.newNodeClaims.reduce((sum, { pods }) => sum + pods.length - 1, 0);
        expect(result.unschedulable.map((left) => left.pod)).not.toContain('default/ordinary');
        for (const claim of written) {
          expect(nodeClaims.parse({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', ...claim })).toMatchObject({
            ok: true,
          });
          const keys = [...Object.keys(claim.metadata.labels ?? {}), ...claim.spec.requirements.map(({ key }) => key)];
          const known = [...coreWellKnownLabels, ...awsWellKnownLabels];
          expect(keys.filter((key) => !ofNodePool.has(key) && !known.includes(key))).toEqual([]);
          expect(Object.keys(claim.metadata.labels ?? {}).filter(isProtectedLabel)).toEqual([]);
        }
      }),
      { numRuns, seed: Number(process.env['STOWAGE_SEED'] ?? 20_260_101) },
    );
    expect(placed).toBeGreaterThan(numRuns / 10);
  });
});
