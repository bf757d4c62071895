import type { DisruptionView } from '../../activities/disruption-context/contract.js';
import { alongsideKept } from '../../disruption/command.js';
import { counted } from '../../core/text.js';
import { workflowNow } from '../clock.js';
import { untilHistoryFull } from '../history-limit.js';
import type { SlotDecision, SlotRequest } from '../messages.js';
import type { Pauses } from '../people/pauses.js';
import type { Activities } from '../calls/proxies.js';
import type { Questions } from './questions.js';
import type { RunningDisruptions } from './running-disruptions.js';
import type { SlotRequests } from './slot-requests.js';

interface SlotGrantDeps {
  readonly activities: Activities;
  readonly slotRequests: SlotRequests;
  readonly running: RunningDisruptions;
  readonly questions: Questions;
  readonly pauses: Pauses;
  /** State of `disrupt` that decisions need besides the cluster. */
  readonly view: () => DisruptionView;
  /** Timeout of the activity, including its wait for a packing thread. */
  readonly timeout: '10 minutes';
}

/** Grants disruption slots to the workflows that requested them, as budgets allow (budgets/every-disruption-asks). */
export class SlotGrants {
  constructor(private readonly deps: SlotGrantDeps) {}

  /** Decides about all open requests. Returns when to decide again, milliseconds of the epoch. */
  async decide(): Promise<number> {
    const { slotRequests, running } = this.deps;
    for (const request of slotRequests.waiting) slotRequests.grant(request.id, running.grantedTo(request.id));
    let checkAt = Number.POSITIVE_INFINITY;
    for (const portion of slotRequests.portions()) {
      for (const decision of await this.ask(portion)) {
        checkAt = Math.min(checkAt, decision.nextCheckAt ?? Number.POSITIVE_INFINITY);
        const request = slotRequests.waiting.find(({ id }) => id === decision.id);
        // The request may have been withdrawn while the activity ran.
        if (request !== undefined) await this.grant(request, decision);
      }
    }
    slotRequests.sweep();
    return checkAt;
  }

  private async ask(portion: readonly SlotRequest[]): Promise<readonly SlotDecision[]> {
    const { activities, view, timeout } = this.deps;
    const requests = portion.map(({ id, reason, candidates, together }) => ({
      ...{ id, reason, candidates },
      ...(together === true ? { together } : {}),
    }));
    const summary = `slots for ${counted(requests.length, 'request')}`;
    const { decisions } = await untilHistoryFull(() =>
      activities.kube.decideSlots.executeWithOptions({ summary, startToCloseTimeout: timeout }, [
        { view: view(), requests },
      ]),
    );
    return decisions;
  }

  private async grant(request: SlotRequest, decision: SlotDecision): Promise<void> {
    const { slotRequests, running, questions, pauses } = this.deps;
    const { id, workflowId, reason } = request;
    const now = workflowNow();
    const wanted = new Set(request.candidates.map(({ claim }) => claim.uid));
    // A pause may have begun while the activity ran.
    const free = decision.granted.filter(
      (one) => wanted.has(one.claim.uid) && pauses.holding(reason, [one]) === undefined,
    );
    const granted = request.together === true && free.length < request.candidates.length ? [] : free;
    const question = questions.find(workflowId);
    const before = question !== undefined && granted.length > 0 ? this.nodesOfOthers(workflowId) : [];
    if (granted.length > 0) {
      // If it is a command that waited for approval, its saving is known from the question.
      const { wantsNominations, saves } = question ?? {};
      const known = {
        ...(wantsNominations === undefined ? {} : { wantsNominations }),
        ...(saves === undefined ? {} : { saves }),
      };
      running.begin({ workflowId, reason, candidates: granted, since: now, slot: id, ...known });
      questions.granted(workflowId);
      slotRequests.grant(id, granted);
    }
    const isDelivered = await slotRequests.notify(request, {
      ...{ ...decision, granted: running.grantedTo(id) },
      ...(before.length === 0 ? {} : { alongside: before }),
    });
    if (isDelivered) return;
    slotRequests.withdraw(id, undefined);
    running.returned(id, undefined);
  }

  /** The nodes of other disruptions that run, at most as many as a command may name. */
  private nodesOfOthers(workflowId: string): readonly string[] {
    const others = this.deps.running.all.filter((one) => one.workflowId !== workflowId);
    return others.flatMap(({ candidates }) => candidates.map(({ node }) => node)).slice(-alongsideKept);
  }
}
