import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations } from '../../api/labels.js';
import { waitOf } from '../../cluster/disruption-wait.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import { identityOf, labelsOf } from '../../cluster/node-labels.js';
import { pastOf, recordsOf } from '../../cluster/pool-records.js';
import { parseWorkflowId } from '../../core/ids.js';
import type { CandidateRef, OpenQuestion, Refused, RunningDisruption } from '../../workflows/messages.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import type { ActivityDeps } from '../deps.js';
import { isDeleting } from '../../core/names.js';
import type { PastDisruption } from '../../disruption/budgets/limits/past-disruptions.js';

/** The records of disruptions on Kubernetes objects (budgets/records). */
export interface DisruptionRecords {
  /** Disruptions that count against budgets. */
  readonly running: readonly RunningDisruption[];
  /** Commands that wait for approval, or for their turn after it. */
  readonly questions: readonly OpenQuestion[];
  /** Ids of workflows that wait, and count against no budget. */
  readonly waiting: ReadonlySet<string>;
  readonly past: readonly PastDisruption[];
  readonly refused: readonly Refused[];
}

type View = Pick<NodeView, 'claim' | 'node'>;

/**
 * Reads the records of NodePools, and what the disruptions of NodeClaims wait for. Malformed records are ignored and
 * logged.
 */
export function disruptionRecords(
  { log, now }: Pick<ActivityDeps, 'log' | 'now'>,
  pools: readonly NodePool[],
  views: readonly View[],
): DisruptionRecords {
  const byUid = new Map(views.map((view) => [view.claim.metadata.uid ?? '', view]));
  const running = new Map<string, RunningDisruption>();
  const past: PastDisruption[] = [];
  const refused = new Map<string, Refused>();
  for (const pool of pools) {
    const { name: nodePool = '' } = pool.metadata;
    const { records, wrong } = recordsOf(pool);
    for (const why of wrong)
      log.warn({ nodePool, annotation: annotations.disruptionRecords, why }, 'a record of a NodePool is ignored');
    for (const { uid, owner, reason, at } of records.disrupting) {
      const view = byUid.get(uid);
      if (view !== undefined) include(running, { workflowId: owner, reason, since: at }, view);
    }
    past.push(...pastOf(nodePool, records));
    for (const each of records.refused) if (each.until > now()) refused.set(JSON.stringify(each), each);
  }
  return {
    running: [...running.values()],
    questions: questionsOf(views),
    waiting: new Set(views.flatMap(({ claim }) => waitOf(claim)?.workflow ?? [])),
    past,
    refused: [...refused.values()].sort((a, b) => a.at - b.at),
  };
}

/**
 * A command that waits for its turn after the approval is as open as one that waits for approval. A wait for the end of
 * a pause is no question.
 */
function questionsOf(views: readonly View[]): readonly OpenQuestion[] {
  const questions = new Map<string, OpenQuestion>();
  for (const view of views) {
    const wait = isDeleting(view.claim) ? undefined : waitOf(view.claim);
    if (wait === undefined || wait.for === 'Pause' || parseWorkflowId(wait.workflow)?.kind !== 'consolidate') continue;
    const { workflow: workflowId, reason, since, saves } = wait;
    include(
      questions,
      {
        ...{ workflowId, reason, since },
        ...(saves === undefined ? {} : { saves }),
        ...(wait.for === 'Approval' ? {} : { isApproved: true }),
      },
      view,
    );
  }
  return [...questions.values()];
}

function include(all: Map<string, OpenQuestion>, one: Omit<OpenQuestion, 'candidates'>, view: View): void {
  const { workflowId } = one;
  const candidates: readonly CandidateRef[] = all.get(workflowId)?.candidates ?? [];
  const { claim } = view;
  const candidate = { claim: identityOf(claim), node: nodeNameOf(view), nodePool: labelsOf(claim).nodePool };
  all.set(workflowId, { ...one, candidates: [...candidates, candidate] });
}
