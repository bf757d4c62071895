import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Case } from '../cases/case.js';
import { generateCorner } from '../cases/index.js';
import { nodeLabels } from '../cases/realistic.js';
import { observe } from '../../tools/stack/demo/observe.js';
import type { KubernetesObject, Node, Pod, PodSpec, Taint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { createKubeClient } from '../../kube/client.js';
import { plan } from '../../packing/plan.js';
import type { Plan, PlannedClaim } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import { kubectl } from '../live/kubectl.js';
import { useStack } from './shared-stack.js';

// The real judge: kube-scheduler binds what was planned onto the nodes that were planned, with no second round of launches. It
// is free to choose among them: no pod is nominated.
const { stack } = useStack(['controllers']);
let kube: ReturnType<typeof createKubeClient>;
let created: string[] = [];

beforeEach(() => {
  kube = createKubeClient({ kubeconfig: stack().adminKubeconfig ?? '', userAgent: 'scheduler-judge' });
});

afterEach(async () => {
  await kubectl(stack(), ['delete', 'node', '-l', 'judge', '--wait=false']);
  if (created.length > 0) await kubectl(stack(), ['delete', 'namespace', ...created, '--wait=false']);
  created = [];
  kube.close();
});

/** The case on nodes that nothing else in the cluster uses: its pods go nowhere else, and no others come. */
function fenced(made: Case, judge: string): Case {
  const taint: Taint = { key: 'judge', value: judge, effect: 'NoSchedule' };
  const objects = made.objects.map((object): KubernetesObject => {
    const metadata = { ...object.metadata };
    if (object.kind === 'Pod') {
      // Overhead needs a RuntimeClass that says so.
      const spec: PodSpec = { ...(object as Pod).spec };
      delete spec.overhead;
      const tolerations = [...(spec.tolerations ?? []), { key: 'judge', operator: 'Exists' }];
      const fencedSpec = { ...spec, nodeSelector: { ...spec.nodeSelector, judge }, tolerations };
      return { ...object, metadata: { ...metadata, namespace: judge }, spec: fencedSpec } as KubernetesObject;
    }
    if (object.kind !== 'NodePool') return object;
    const { spec } = object as NodePool;
    const template = {
      ...spec.template,
      metadata: { labels: { ...spec.template.metadata?.labels, judge } },
      spec: { ...spec.template.spec, taints: [...(spec.template.spec.taints ?? []), taint] },
    };
    return { ...object, spec: { ...spec, template } } as KubernetesObject;
  });
  return { objects, catalogue: made.catalogue };
}

/** The node that the claim becomes, as its cheapest offering. */
function nodeOf(made: Case, claim: PlannedClaim, name: string): Node {
  const type = made.catalogue.find((each) => each.name === claim.cheapest.instanceType)!;
  const offer = type.offerings.find(({ Requirements }) =>
    Requirements.every(
      ({ values = [] }) => values.includes(claim.cheapest.zone) || values.includes(claim.cheapest.capacityType),
    ),
  )!;
  const pool = made.objects.find(
    (object) => object.kind === 'NodePool' && object.metadata.name === claim.nodePool,
  ) as NodePool;
  const single = claim.requirements.filter(({ operator, values = [] }) => operator === 'In' && values.length === 1);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: {
        ...Object.fromEntries(single.map(({ key, values }) => [key, values![0]!])),
        ...nodeLabels(type, offer),
        ...pool.spec.template.metadata?.labels,
        ...claim.labels,
        [labels.nodePool]: claim.nodePool,
        [labels.hostname]: name,
      },
    },
    spec: { taints: [...(pool.spec.template.spec.taints ?? [])] },
    status: { capacity: type.resources, allocatable: type.resources },
  };
}

/** By pod: the node that is planned for it. */
function planned(result: Plan, judge: string): Map<string, string> {
  return new Map(
    result.newNodeClaims.flatMap(({ pods }, i) => pods.map((pod) => [pod.split('/')[1]!, `${judge}-${i}`] as const)),
  );
}

async function waiting(judge: string): Promise<string[]> {
  const pods = await kube.list('Pod', { namespace: judge });
  return pods
    .filter(({ spec }) => (spec.nodeName ?? '') === '')
    .map(({ metadata, status }) => {
      const why = status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? 'not looked at yet';
      return `${metadata.name ?? ''}: ${why}`;
    });
}

const mixes = [
  ['zoneSpread', 'plain', 'hostPorts', 'taints', 'zoneAffinity'],
  ['hostnameAntiAffinity', 'capacityTypeSpread', 'customLabels', 'initContainers', 'plain'],
  ['antiAffinityToOthers', 'hostnameSpread', 'follows', 'revisions', 'orTerms'],
  ['plain', 'plain', 'zoneSpread', 'hostnameAffinity', 'minValues'],
  ['weights', 'limits', 'zoneAntiAffinity', 'taints', 'bounds'],
] as const;

// Rule `invariants/scheduler-agrees`.
describe('kube-scheduler binds every planned pod to the planned nodes', () => {
  test.each(mixes.map((traits, i) => [traits.join(), i + 1] as const))('%s', async (traits, seed) => {
    const judge = `judge-${seed}`;
    const made = fenced(generateCorner(traits.split(','), 100, seed), judge);
    const result = plan(packingInputOf(made));
    const nodeFor = planned(result, judge);
    expect(nodeFor.size).toBeGreaterThan(30);

    await kubectl(stack(), ['create', 'namespace', judge]);
    created.push(judge);
    const pods = made.objects.filter(({ kind, metadata }) => kind === 'Pod' && nodeFor.has(metadata.name ?? ''));
    await observe(
      'the service account',
      async () => {
        return kubectl(stack(), ['--namespace', judge, 'get', 'serviceaccount', 'default']).then(
          () => true,
          () => undefined,
        );
      },
      { withinMs: 60_000 },
    );
    await kubectl(stack(), ['create', '-f', '-'], pods);
    await kubectl(stack(), ['create', '-f', '-'], result.newNodeClaims.map((claim, i) => nodeOf(made, claim, `${judge}-${i}`))); // prettier-ignore
    await observe(
      'every planned pod bound',
      async () => (await waiting(judge)).length === 0,
      { withinMs: 180_000 },
      async () => (await waiting(judge)).join('; '),
    );
  });
});
