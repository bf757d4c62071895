import type { DisruptionView } from '../../activities/disruption/contract.js';
import { counted } from '../../core/plurals.js';
import { workflowNow } from '../clock.js';
import { orGiveUp } from '../history-limit.js';
import type { SlotDecision, SlotRequest } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import type { Activities } from '../proxies.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';
import type { SlotBook } from './slot-book.js';

interface Admitting {
  readonly activities: Activities;
  readonly book: SlotBook;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
  /** What `disrupt` knows that the cluster does not. */
  readonly view: () => DisruptionView;
  /** What a decision may wait for its turn and take. */
  readonly timeout: '10 minutes';
}

/** Grants slots to those that wait for them, as the cluster allows (budgets/every-disruption-asks). */
export class Admissions {
  constructor(private readonly of: Admitting) {}

  /** Decides about the slots that wait. Gives when to look again, milliseconds of the epoch. */
  async decide(): Promise<number> {
    const { book, running } = this.of;
    for (const request of book.waiting) book.grant(request.id, running.grantedTo(request.id));
    let checkAt = Number.POSITIVE_INFINITY;
    for (const portion of book.portions()) {
      for (const decision of await this.ask(portion)) {
        checkAt = Math.min(checkAt, decision.nextCheckAt ?? Number.POSITIVE_INFINITY);
        const request = book.waiting.find(({ id }) => id === decision.id);
        // Withdrawn while it was decided about.
        if (request !== undefined) await this.grant(request, decision);
      }
    }
    book.sweep();
    return checkAt;
  }

  private async ask(portion: readonly SlotRequest[]): Promise<readonly SlotDecision[]> {
    const { activities, view, timeout } = this.of;
    const requests = portion.map(({ id, reason, candidates, together }) => ({
      ...{ id, reason, candidates },
      ...(together === true ? { together } : {}),
    }));
    const summary = `slots for ${counted(requests.length, 'request')}`;
    const { decisions } = await orGiveUp(() =>
      activities.kube.decideSlots.executeWithOptions({ summary, startToCloseTimeout: timeout }, [
        { view: view(), requests },
      ]),
    );
    return decisions;
  }

  private async grant(request: SlotRequest, decision: SlotDecision): Promise<void> {
    const { book, running, questions, pauses } = this.of;
    const { id, workflowId, reason } = request;
    const now = workflowNow();
    const wanted = new Set(request.candidates.map(({ claim }) => claim.uid));
    // A pause may have come while the activity ran.
    const free = decision.granted.filter(
      (one) => wanted.has(one.claim.uid) && pauses.holding(reason, [one]) === undefined,
    );
    const granted = request.together === true && free.length < request.candidates.length ? [] : free;
    if (granted.length > 0) {
      // It was decided here, and is under way from now on.
      const { heeds, saves } = questions.find(workflowId) ?? {};
      const known = { ...(heeds === undefined ? {} : { heeds }), ...(saves === undefined ? {} : { saves }) };
      running.begin({ workflowId, reason, candidates: granted, since: now, slot: id, ...known });
      questions.granted(workflowId);
      book.grant(id, granted);
    }
    const heard = await book.notify(request, { ...decision, granted: running.grantedTo(id) });
    if (heard) return;
    book.withdraw(id, undefined);
    running.returned(id, undefined);
  }
}
