import { lowerBound } from './bins/bound.js';
import { solveBins } from './bins/solve.js';
import type { Pod } from '../api/kubernetes.js';
import { compareText } from './compare.js';
import type { Compiled } from './compiled.js';
import { podName, type PodClass } from './compile/classes.js';
import type { Profile } from './compile/universe.js';
import { blockersOf, sentence } from './output/blockers.js';
import { describeClaim, type ClaimContext, type OpenClaim } from './output/claims.js';
import { numberProblem, type PoolLimit } from './place/bin-problem.js';
import { Feasibility } from './place/feasibility.js';
import { poolLimits } from './place/limits.js';
import { nodeStates, type NodeState } from './place/node-states.js';
import type { Part } from './place/part.js';
import type { Plan, Unschedulable } from './types.js';

/** Units of search after a first packing. */
const effort = { units: 200_000 };

/** Places everything: on nodes that exist, then on new ones. */
export function solve(compiled: Compiled): Plan {
  const pass = new Pass(compiled);
  pass.run();
  return pass.plan();
}

class Pass {
  private readonly feasibility: Feasibility;
  private readonly nodes: readonly NodeState[];
  private readonly limits: PoolLimit[];
  private readonly claims: OpenClaim[] = [];
  private readonly unplaced = new Map<PodClass, Pod[]>();
  private bound = 0;

  constructor(private readonly compiled: Compiled) {
    this.feasibility = new Feasibility(compiled);
    this.nodes = nodeStates(compiled);
    this.limits = poolLimits(compiled);
  }

  run(): void {
    const parts: Part[] = [];
    for (const podClass of this.compiled.queue) {
      if (this.compiled.invalid.has(podClass)) this.unplaced.set(podClass, [...podClass.pods]);
      else parts.push(...this.settle(podClass));
    }
    this.launch(parts);
  }

  private settle(podClass: PodClass): Part[] {
    let pods: readonly Pod[] = podClass.pods;
    const none = new Set<Profile>();
    for (const level of this.compiled.ladders[podClass.shape.index]!) {
      pods = this.useNodes(podClass, level, pods);
      if (pods.length === 0) return [];
      const profiles = this.feasibility.launchable(podClass, level, none);
      if (profiles.length > 0) return [{ podClass, level, profiles, pods }];
    }
    this.unplaced.set(podClass, [...pods]);
    return [];
  }

  private useNodes(podClass: PodClass, level: Part['level'], pods: readonly Pod[]): readonly Pod[] {
    const demand = this.feasibility.demand(podClass);
    let next = 0;
    for (const node of this.nodes) {
      if (next === pods.length) break;
      const fit = roomFor(node.free, demand, pods.length - next);
      if (fit === 0 || !this.feasibility.admitsKind(level, node.kind)) continue;
      for (let d = 0; d < demand.length; d++) node.free[d] = node.free[d]! - fit * demand[d]!;
      for (let i = 0; i < fit; i++) node.pods.push(pods[next++]!);
    }
    return next === 0 ? pods : pods.slice(next);
  }

  private launch(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const { problem, rowOfOffer } = numberProblem(
      this.compiled,
      this.feasibility,
      parts,
      { caps: [], conflicts: [] },
      this.limits,
    );
    const solution = solveBins(problem, effort);
    this.bound += lowerBound(problem, effort);
    const given = new Int32Array(parts.length);
    for (const { offer, items, pods } of solution.bins) {
      const members = [...items].map((item, k) => {
        const part = parts[item]!;
        const from = given[item]!;
        given[item] = from + pods[k]!;
        return { part, pods: part.pods.slice(from, from + pods[k]!) };
      });
      this.claims.push({ row: rowOfOffer[offer]!, members });
    }
    parts.forEach((part, item) => {
      if (given[item]! < part.pods.length) this.unplaced.set(part.podClass, part.pods.slice(given[item]));
    });
  }

  plan(): Plan {
    const context: ClaimContext = {
      compiled: this.compiled,
      feasibility: this.feasibility,
      limits: this.limits,
      rowLists: new Map(),
    };
    const newNodeClaims = this.claims.map((claim) => describeClaim(context, claim));
    newNodeClaims.sort((a, b) => compareText(a.pods[0]!, b.pods[0]!));
    const pricePerHour = newNodeClaims.reduce((sum, { cheapest }) => sum + cheapest.pricePerHour, 0);
    return {
      newNodeClaims,
      existingNodes: this.nodes
        .filter(({ pods }) => pods.length > 0)
        .map(({ view, pods }) => ({ node: view.name, pods: pods.map(podName).sort(compareText) })),
      unschedulable: this.unschedulable(),
      pricePerHour,
      lowerBoundPerHour: Math.min(this.bound, pricePerHour),
    };
  }

  private unschedulable(): Unschedulable[] {
    const list: Unschedulable[] = [];
    for (const [podClass, pods] of this.unplaced) {
      const blockers = blockersOf(this.compiled, this.feasibility, podClass);
      const reason = sentence(blockers);
      for (const pod of pods) list.push({ pod: podName(pod), reason, blockers });
    }
    return list.sort((a, b) => compareText(a.pod, b.pod));
  }
}

function roomFor(free: Float64Array, demand: Float64Array, wanted: number): number {
  let fit = wanted;
  for (let d = 0; d < demand.length; d++) {
    const left = free[d]!;
    if (left < 0) return 0;
    if (demand[d]! * fit > left) fit = Math.floor(left / demand[d]!);
    if (fit === 0) return 0;
  }
  return fit;
}
