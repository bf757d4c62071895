import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import { fullName } from '../names.js';
import type { Blocker } from '../types.js';

/** Pairs of a kind of pods and a NodePool that a plan goes into. */
const mostPairs = 10_000;
/** Profiles gone through, for all kinds of pods together. */
const mostProfiles = 2_000_000;
/** Instance types gone through, for all kinds of pods and all NodePools together. */
const mostTypes = 2_000_000;

/** For kinds of pods that a plan does not go into. */
export const notExplained: readonly Blocker[] = [
  {
    reason: 'NotExplained',
    message:
      'no node takes it; more kinds of pods are unschedulable than one plan explains, `stowage why` tells of each',
  },
];

/** How much a plan explains: bounded, for there may be thousands of kinds of pods and hundreds of NodePools. */
export class Explaining {
  private pairs = 0;
  private profiles = 0;
  private types = 0;
  private readonly typesOfPools: number;

  constructor(private readonly compiled: Compiled) {
    this.typesOfPools = compiled.pools.reduce((sum, { types }) => sum + types.length, 0);
  }

  /** Whether the plan is to say what stops pods of the class in each NodePool. */
  takes(podClass: PodClass): boolean {
    this.pairs += this.compiled.pools.length;
    this.profiles += this.compiled.universe.profiles.length;
    return (this.pairs <= mostPairs && this.profiles <= mostProfiles) || this.isAskedFor(podClass);
  }

  /** Whether it is to go through the instance types as well. */
  takesTypes(podClass: PodClass): boolean {
    const { settings, about } = this.compiled.input;
    if (settings.explainTypes !== true || this.compiled.invalid.has(podClass)) return false;
    if (about !== undefined) return this.isAskedFor(podClass);
    this.types += this.typesOfPools;
    return this.types <= mostTypes;
  }

  private isAskedFor({ pods }: PodClass): boolean {
    const { about } = this.compiled.input;
    return about !== undefined && pods.some((pod) => about.has(fullName(pod)));
  }
}
