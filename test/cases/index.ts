import { benchmarkMixCase, genericCase, preferencesCase } from './benchmark-mix.js';
import type { Case } from './case.js';
import { clusterCase } from './cluster.js';
import { cornerCase, extendedCase } from './corner.js';
import { entangledCase } from './entangled.js';
import { kwokClusterCase } from './kwok-cluster.js';
import { closedPoolsCase, labelValuesCase, manyPoolsCase, spreadValuesCase } from './oversized.js';
import { Random } from './random.js';
import { realisticCase } from './realistic.js';
import { revisedCase } from './revised.js';
import { variedClusterCase } from './varied-cluster.js';

export type { Case } from './case.js';

const generators = {
  generic: genericCase,
  'benchmark-mix': benchmarkMixCase,
  realistic: (random: Random, size: number) => realisticCase(random, size, 0),
  /** As many half-full nodes as half the pods. */
  'realistic-nodes': (random: Random, size: number) => realisticCase(random, size, Math.ceil(size / 2)),
  preferences: preferencesCase,
  corner: (random: Random, size: number) => cornerCase(random, size),
  /** In the middle of rollouts. */
  revised: revisedCase,
  /** Where rules of one app select the pods of others. */
  entangled: entangledCase,
  /** With what Karpenter's peer does not model: `--no-peer`. */
  extended: extendedCase,
  /** More of something than any cluster has by right: `size` counts the values of a label, or the NodePools. */
  'label-values': labelValuesCase,
  'spread-values': spreadValuesCase,
  'many-pools': manyPoolsCase,
  'closed-pools': closedPoolsCase,
  /** For consolidation: `size` counts nodes. */
  cluster: clusterCase,
  /** At prices that are in proportion to what types hold. */
  'kwok-cluster': kwokClusterCase,
  'varied-cluster': variedClusterCase,
} as const satisfies Readonly<Record<string, (random: Random, size: number) => Case>>;

export type Kind = keyof typeof generators;

export const kinds = Object.keys(generators) as Kind[];

/** The case of this kind, size and seed: the same bytes whenever and wherever it is made. */
export function generate(kind: Kind, size: number, seed: number): Case {
  return generators[kind](new Random(seed), size);
}

/** The case of the corner traits named, for looking into one rule. */
export function generateCorner(traits: readonly string[], size: number, seed: number): Case {
  return cornerCase(new Random(seed), size, traits);
}
