import type { KubernetesObject, PodSpec } from '../../api/kubernetes.js';
import { benchmarkCatalogue } from './catalogues.js';
import type { Case } from './case.js';
import { capacityTypeKey, hostnameKey, inValues, nodePool, pod, requestsOf, zoneKey } from './objects.js';
import type { Random } from './random.js';

const cpus = ['100m', '250m', '500m', '1', '1500m'];
const memories = ['100Mi', '256Mi', '512Mi', '1Gi', '2Gi', '4Gi'];
const values = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

const requests = (random: Random): Record<string, string> => requestsOf(random.pick(cpus), random.pick(memories));
const anyLabel = (random: Random): Record<string, string> => ({ 'my-label': random.pick(values) });

/** The pool that Karpenter's benchmark has: limits that never bind. */
function pool(): KubernetesObject {
  return nodePool('default', {
    requirements: [inValues(capacityTypeKey, 'spot', 'on-demand')],
    limits: { cpu: '10000000', memory: '10000000Gi' },
  });
}

type Shape = (random: Random) => { labels: Record<string, string>; spec: Partial<PodSpec> };

const generic: Shape = (random) => ({ labels: anyLabel(random), spec: {} });

const spread =
  (topologyKey: string): Shape =>
  (random) => ({
    labels: anyLabel(random),
    spec: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: anyLabel(random) },
        },
      ],
    },
  });

const affinity: Shape = (random) => {
  const labels = { 'my-affinity': random.pick(values) };
  const term = { labelSelector: { matchLabels: labels }, topologyKey: zoneKey };
  return {
    labels,
    spec: { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
  };
};

const antiAffinity: Shape = () => {
  const labels = { app: 'nginx' };
  const term = { labelSelector: { matchLabels: labels }, topologyKey: hostnameKey };
  return {
    labels,
    spec: { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
  };
};

const preference: Shape = () => {
  const labels = { app: 'nginx' };
  const term = (topologyKey: string) => ({ labelSelector: { matchLabels: labels }, topologyKey });
  return {
    labels,
    spec: {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [inValues(zoneKey, 'test-zone-1')] } },
          ],
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 10, podAffinityTerm: term(zoneKey) },
            { weight: 1, podAffinityTerm: term(hostnameKey) },
          ],
        },
      },
    },
  };
};

function caseOf(random: Random, kind: string, shapes: readonly { shape: Shape; count: number }[]): Case {
  let index = 0;
  const pods = shapes.flatMap(({ shape, count }) =>
    Array.from({ length: count }, () => {
      const { labels, spec } = shape(random);
      return pod(`${kind}-${index++}`, labels, requests(random), spec);
    }),
  );
  return { objects: [pool(), ...pods], catalogue: benchmarkCatalogue() };
}

/** Pods that ask for resources alone. */
export function genericCase(random: Random, size: number): Case {
  return caseOf(random, 'generic', [{ shape: generic, count: size }]);
}

/**
 * Karpenter's own benchmark of diverse pods: a fifth each of generic pods, zone spread, hostname spread, zone affinity and
 * hostname anti-affinity; what is left over is generic. A spread selects another label than the pod has.
 */
export function benchmarkMixCase(random: Random, size: number): Case {
  const fifth = Math.floor(size / 5);
  return caseOf(random, 'mix', [
    { shape: generic, count: size - 4 * fifth },
    { shape: spread(zoneKey), count: fifth },
    { shape: spread(hostnameKey), count: fifth },
    { shape: affinity, count: fifth },
    { shape: antiAffinity, count: fifth },
  ]);
}

/** Karpenter's own benchmark of preferences, one of which no plan can keep. */
export function preferencesCase(random: Random, size: number): Case {
  return caseOf(random, 'preference', [{ shape: preference, count: size }]);
}
