import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { setQueryHandler, setSignalHandler, setUpdateHandler } from '../handlers.js';
import type { DisruptionFinished, NodeVerdict, OpenQuestion, Pause, PauseOrder, PauseScope } from '../messages.js';
import { budgetsQuery, capacityQuery, clusterChangedSignal, disruptionFinishedSignal } from '../messages.js';
import { disruptionPlanQuery, leastPossibleQuery, nextWindowQuery, nominatedSignal } from '../messages.js';
import { pausesChangedSignal, pausesQuery, pauseSignal, pauseUpdate, questionsQuery } from '../messages.js';
import {
  reconsiderSignal,
  reconsiderUpdate,
  refusedQuery,
  resumeSignal,
  resumeUpdate,
  staysQuery,
} from '../messages.js';
import { runningQuery, slotRequestSignal, slotReturnedSignal, steerSignal, whyNotQuery, whyNotUpdate } from '../messages.js'; // prettier-ignore
import { checkText, handleOrder } from '../people/orders.js';
import type { PauseObjects } from '../people/pause-objects.js';
import type { Progress } from '../progress.js';
import type { Activities } from '../calls/proxies.js';
import type { DisruptionSignals } from './disruption-signals.js';
import type { KnownState } from './known-state.js';
import type { Steering } from './steering.js';

interface SignalTargets {
  readonly known: KnownState;
  readonly signals: DisruptionSignals;
  readonly steering: Steering;
  readonly pauseObjects: PauseObjects;
  /** Called when there is something new to decide about. */
  readonly onChange: () => void;
}

/** Sets the handlers of the signals that other workflows and the operator send. */
export function handleSignals({ known, signals, steering, pauseObjects, onChange }: SignalTargets): void {
  setSignalHandler(clusterChangedSignal, onChange);
  setSignalHandler(pausesChangedSignal, () => pauseObjects.notify());
  setSignalHandler(nominatedSignal, (nodes) => {
    known.nominations.take(nodes);
    signals.nominated(nodes);
  });
  setSignalHandler(disruptionFinishedSignal, (finished: DisruptionFinished) => {
    steering.end(finished.workflowId);
    known.finish(finished);
    onChange();
  });
  setSignalHandler(steerSignal, (command) => steering.begin(command));
  setSignalHandler(slotRequestSignal, (request) => {
    known.takeRequest(request);
    onChange();
  });
  setSignalHandler(slotReturnedSignal, ({ id, nodes }) => {
    known.returned(id, nodes);
    onChange();
  });
}

interface OrderTargets {
  readonly progress: Progress;
  readonly known: KnownState;
  readonly pause: (order: PauseOrder) => readonly Pause[];
  readonly resume: (scope: PauseScope) => readonly Pause[];
  readonly onChange: () => void;
}

/** Sets the handlers of people's orders. Call it when everything else is set up: an order may already be waiting. */
export function handleOrders({ progress, known, pause, resume, onChange }: OrderTargets): void {
  const { pauses, questions, lastFindings } = known;
  handleOrder(progress, {
    ...{ signal: pauseSignal, update: pauseUpdate },
    check: (order) => pauses.checkPause(order, lastFindings.pools),
    act: pause,
  });
  handleOrder(progress, {
    ...{ signal: resumeSignal, update: resumeUpdate },
    check: (order) => pauses.checkResume(order),
    act: ({ scope }) => resume(scope),
  });
  handleOrder(progress, {
    ...{ signal: reconsiderSignal, update: reconsiderUpdate },
    check: (order) => questions.checkReconsider(order),
    act: (order) => {
      onChange();
      return known.reconsider(order);
    },
  });
}

/** Sets the handlers of queries, which answer from what is known, and of `whyNot`, which looks. */
export function handleQueries(known: KnownState, activities: Activities, view: () => DisruptionView): void {
  const { running, questions, lastFindings } = known;
  const waiting = (): readonly OpenQuestion[] => known.questionsAsked.filter(({ isGranted }) => isGranted !== true);
  const explained = async (node: string): Promise<NodeVerdict> => {
    const options = { summary: `why ${node} is not disrupted` };
    return lastFindings.withWait(
      await activities.kube.explainNode.executeWithOptions(options, [{ node, view: view() }]),
    );
  };
  setUpdateHandler(whyNotUpdate, explained, (node) => checkText('node', node));
  setQueryHandler(whyNotQuery, (node) => lastFindings.verdict(node, { running: running.all, waiting: waiting() }));
  setQueryHandler(pausesQuery, () => known.pauses.all);
  setQueryHandler(runningQuery, () => running.all);
  setQueryHandler(questionsQuery, () => known.questionsAsked);
  setQueryHandler(refusedQuery, () => questions.refused);
  setQueryHandler(budgetsQuery, () => lastFindings.budgets);
  setQueryHandler(capacityQuery, () => lastFindings.capacity);
  setQueryHandler(leastPossibleQuery, () => lastFindings.leastPossible);
  setQueryHandler(staysQuery, () => lastFindings.stays);
  setQueryHandler(nextWindowQuery, () => lastFindings.nextWindow);
  setQueryHandler(disruptionPlanQuery, () => lastFindings.plan);
}
