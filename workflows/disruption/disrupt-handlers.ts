import { setQueryHandler, setUpdateHandler } from '../handlers.js';
import type { NodeVerdict, Pause, PauseOrder, PauseScope, ReconsiderOrder, Refused } from '../messages.js';
import {
  findingsQuery,
  pauseSignal,
  pauseUpdate,
  reconsiderSignal,
  reconsiderUpdate,
  resumeSignal,
  resumeUpdate,
  runningQuery,
  whyNotUpdate,
} from '../messages.js';
import { checkText, handleWrittenOrder } from '../people/orders.js';
import { checkPause, checkReconsider, checkResume } from '../people/order-checks.js';
import type { Progress } from '../progress.js';
import type { Activities } from '../calls/proxies.js';
import type { KnownState } from './known-state.js';

interface Orders {
  readonly pause: (order: PauseOrder) => Promise<readonly Pause[]>;
  readonly resume: (scope: PauseScope) => Promise<readonly Pause[]>;
  readonly reconsider: (order: ReconsiderOrder) => Promise<readonly Refused[]>;
}

/**
 * Sets the handlers of people's orders, which are written to Kubernetes. Call it when everything else is set up: an
 * order may already be waiting.
 */
export function handleOrders(progress: Progress, { pause, resume, reconsider }: Orders): void {
  handleWrittenOrder(progress, { signal: pauseSignal, update: pauseUpdate, check: checkPause, act: pause });
  handleWrittenOrder(progress, {
    ...{ signal: resumeSignal, update: resumeUpdate, check: checkResume },
    act: ({ scope }) => resume(scope),
  });
  handleWrittenOrder(progress, {
    ...{ signal: reconsiderSignal, update: reconsiderUpdate, check: checkReconsider },
    act: reconsider,
  });
}

/**
 * Sets the handlers of queries, which answer from the state of the workflow, and of the update `whyNot`, which reads
 * the cluster.
 */
export function handleQueries(known: KnownState, activities: Activities): void {
  const { lastFindings } = known;
  const explained = async (node: string): Promise<NodeVerdict> => {
    const options = { summary: `why ${node} is not disrupted` };
    return lastFindings.withWait(
      await activities.kube.explainNode.executeWithOptions(options, [{ node, view: known.view() }]),
    );
  };
  setUpdateHandler(whyNotUpdate, explained, (node) => checkText('node', node));
  setQueryHandler(runningQuery, () => known.commands);
  setQueryHandler(findingsQuery, () => lastFindings.current);
}
