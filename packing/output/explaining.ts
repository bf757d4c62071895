import type { Compiled } from '../compile/compiled.js';
import type { PodClass } from '../compile/classes.js';
import type { Blocker } from '../types.js';
import { fullName } from '../../core/names.js';

/** Maximum number of pairs of pod class and NodePool that a plan explains. */
const mostPairs = 10_000;
/** Maximum number of profiles evaluated, for all classes together. */
const mostProfiles = 2_000_000;
/** Maximum number of instance types evaluated, for all classes and NodePools together. */
const mostTypes = 2_000_000;

/** For classes that the plan does not explain. */
export const notExplained: readonly Blocker[] = [
  {
    reason: 'NotExplained',
    message:
      'no node takes it; more kinds of pods are unschedulable than one plan explains, `stowage why` explains each',
  },
];

/** Bounds how much a plan explains: there may be thousands of pod classes and hundreds of NodePools. */
export class Explaining {
  private pairs = 0;
  private profiles = 0;
  private types = 0;
  private readonly typesOfPools: number;

  constructor(private readonly compiled: Compiled) {
    this.typesOfPools = compiled.pools.reduce((sum, { types }) => sum + types.length, 0);
  }

  /** Whether the plan explains what excludes pods of the class from each NodePool. */
  takes(podClass: PodClass): boolean {
    this.pairs += this.compiled.pools.length;
    this.profiles += this.compiled.universe.profiles.length;
    return (this.pairs <= mostPairs && this.profiles <= mostProfiles) || this.isAskedFor(podClass);
  }

  /** Whether the plan also explains the instance types for the class. */
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
