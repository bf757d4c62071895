import type { Plan, PlannedClaim, Unschedulable } from '../packing/types.js';
import type { Job, JobResult } from './packing-jobs.js';

/**
 * A plan for a large cluster is returned from a packing thread in parts, each requested after the previous one was
 * received, so that reading it blocks the event loop no longer than one part takes.
 */

const claimsPerPart = 100;
const nodesPerPart = 500;
const podsPerPart = 2000;

export type AnswerPart =
  | { readonly kind: 'claims'; readonly claims: readonly PlannedClaim[] }
  | { readonly kind: 'nodes'; readonly nodes: Plan['existingNodes'] }
  /** Pods that are unschedulable for the same reason. */
  | ({ readonly kind: 'unschedulable'; readonly pods: readonly string[] } & Omit<Unschedulable, 'pod'>)
  | { readonly kind: 'result'; readonly result: unknown };

/** The parts of a result; the last has the remaining fields. */
export function* answerPartsOf<J extends Job>(job: J, result: JobResult<J>): Generator<AnswerPart> {
  if (job !== 'plan') {
    yield { kind: 'result', result };
    return;
  }
  const plan = result as Plan;
  const { newNodeClaims, existingNodes } = plan;
  for (let from = 0; from < newNodeClaims.length; from += claimsPerPart) {
    yield { kind: 'claims', claims: newNodeClaims.slice(from, from + claimsPerPart) };
  }
  for (let from = 0; from < existingNodes.length; from += nodesPerPart) {
    yield { kind: 'nodes', nodes: existingNodes.slice(from, from + nodesPerPart) };
  }
  yield* unschedulableParts(plan.unschedulable);
  yield { kind: 'result', result: { ...plan, newNodeClaims: [], existingNodes: [], unschedulable: [] } };
}

/** Adjacent pods that share their blockers share the reason too. */
function* unschedulableParts(list: readonly Unschedulable[]): Generator<AnswerPart> {
  for (let from = 0; from < list.length;) {
    const shared = sharedOf(list[from]!);
    const pods: string[] = [];
    while (from < list.length && list[from]!.blockers === shared.blockers && pods.length < podsPerPart) {
      pods.push(list[from++]!.pod);
    }
    yield { kind: 'unschedulable', ...shared, pods };
  }
}

/** The common part of pods that are unschedulable for one reason. */
function sharedOf({ reason, blockers, explanation }: Omit<Unschedulable, 'pod'>): Omit<Unschedulable, 'pod'> {
  return { reason, blockers, ...(explanation === undefined ? {} : { explanation }) };
}

/** Assembles a result from its parts. */
export class Assembly {
  private readonly claims: PlannedClaim[] = [];
  private readonly nodes: Plan['existingNodes'][number][] = [];
  private readonly unschedulable: Unschedulable[] = [];

  /** Returns the result after the last part. */
  take(job: Job, part: AnswerPart): { readonly result: unknown } | undefined {
    switch (part.kind) {
      case 'claims':
        this.claims.push(...part.claims);
        return undefined;
      case 'nodes':
        this.nodes.push(...part.nodes);
        return undefined;
      case 'unschedulable': {
        const shared = sharedOf(part);
        for (const pod of part.pods) this.unschedulable.push({ pod, ...shared });
        return undefined;
      }
      case 'result':
        return job === 'plan' ? { result: { ...(part.result as Plan), ...this.lists() } } : part;
    }
  }

  private lists(): Pick<Plan, 'newNodeClaims' | 'existingNodes' | 'unschedulable'> {
    return { newNodeClaims: this.claims, existingNodes: this.nodes, unschedulable: this.unschedulable };
  }
}
