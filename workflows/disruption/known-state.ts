import type { DisruptionRecords, DisruptionView } from '../../activities/disruption-context/contract.js';
import { workflowNow } from '../clock.js';
import { withRecorded } from '../../disruption/budgets/recorded.js';
import type {
  DisruptionFinished,
  DisruptState,
  NodeMemory,
  OpenQuestion,
  ReconsiderOrder,
  Refused,
  SlotRequest,
} from '../messages.js';
import { Pauses } from '../people/pauses.js';
import { withoutMoveChains, remember } from './command-memory.js';
import { LastFindings } from './last-findings.js';
import { Nominations } from './nominations.js';
import { Questions } from './questions.js';
import { RunningDisruptions } from './running-disruptions.js';
import { SlotRequests } from './slot-requests.js';

const unknownCommand = { reason: 'Underutilized', candidates: [] } as const;

/** The state of `disrupt` that is not in the cluster: decisions need it, and continue-as-new carries it to the next run. */
export class KnownState {
  readonly nominations: Nominations;
  readonly pauses: Pauses;
  readonly slotRequests: SlotRequests;
  readonly questions: Questions;
  readonly running: RunningDisruptions;
  readonly lastFindings: LastFindings;
  private memory: readonly NodeMemory[];
  /** Whether the records on the NodePools have still to be read (see `takeOver`). */
  private isNew: boolean;
  /** The last version of these records that is known. */
  private recordsVersion: number;

  constructor(carried: DisruptState | undefined) {
    this.isNew = carried === undefined;
    this.nominations = new Nominations(carried?.nominations);
    this.pauses = new Pauses(carried?.pauses);
    this.slotRequests = new SlotRequests(carried?.requests);
    this.questions = new Questions(carried?.questions);
    this.running = new RunningDisruptions(carried);
    this.lastFindings = new LastFindings(carried?.undecidedSince);
    this.memory = carried?.memory ?? [];
    this.recordsVersion = carried?.recordsVersion ?? 0;
  }

  /** The part of the state that continue-as-new carries and that is kept here. */
  get carried(): DisruptState {
    const questions = this.questions.state;
    const { undecidedSince } = this.lastFindings;
    const { recordsVersion } = this;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running: this.running.all,
      requests: this.slotRequests.waiting,
      pastDisruptions: this.running.past,
      memory: this.memory,
      ...(questions === undefined ? {} : { questions }),
      ...(undecidedSince === undefined ? {} : { undecidedSince }),
      ...(recordsVersion === 0 ? {} : { recordsVersion }),
    };
  }

  /** The questions, with those that were answered: what was approved asks for a slot. */
  get questionsAsked(): readonly OpenQuestion[] {
    const approved = new Set(this.slotRequests.waiting.map(({ workflowId }) => workflowId));
    return this.questions.open.map((one) => (approved.has(one.workflowId) ? { ...one, isApproved: true } : one));
  }

  /** The part of the state that activities need to decide. */
  view(): DisruptionView {
    const now = workflowNow();
    this.nominations.expire(now);
    this.questions.expire(now);
    const { memory, recordsVersion } = this;
    const { all: running, past: pastDisruptions } = this.running;
    const { refused } = this.questions;
    const open = this.questionsAsked;
    const { knownDetails } = this.lastFindings;
    return {
      nominations: this.nominations.all,
      pauses: this.pauses.all,
      running,
      ...(open.length === 0 ? {} : { questions: open }),
      ...(refused.length === 0 ? {} : { refused }),
      ...(pastDisruptions.length === 0 ? {} : { pastDisruptions }),
      ...(memory.length === 0 ? {} : { memory }),
      ...(knownDetails === undefined ? {} : { knownDetails }),
      ...(this.isNew ? { isNew: true } : {}),
      ...(recordsVersion === 0 ? {} : { recordsVersion }),
    };
  }

  /** Takes over the records on NodePools, which a `disrupt` before this one or a later state of this one wrote (budgets/records). */
  takeOver(recorded: DisruptionRecords): void {
    if (!this.isNew && recorded.pools === undefined) return;
    this.isNew = false;
    const { past, refused } = { past: this.running.past, refused: this.questions.refused };
    const all = withRecorded({ pastDisruptions: past, refused }, recorded);
    this.running.remember(all.pastDisruptions);
    this.questions.remember(all.refused);
  }

  /** The records on the NodePools are of this version now. */
  noteRecords(version: number): void {
    this.recordsVersion = Math.max(this.recordsVersion, version);
  }

  reconsider(order: ReconsiderOrder): readonly Refused[] {
    // What is on the NodePools is older than this, whatever of it is not known.
    this.recordsVersion += 1;
    return this.questions.reconsider(order);
  }

  takeRequest(request: SlotRequest): void {
    this.slotRequests.take(request);
    this.running.dropAdopted(request.workflowId);
  }

  /** Nodes of a slot that are no longer needed: all, or the named ones. */
  returned(slot: string, nodes: readonly string[] | undefined): void {
    this.slotRequests.withdraw(slot, nodes);
    this.running.dropAdopted(slot.split('#')[0]!);
    this.running.returned(slot, nodes);
  }

  /** Takes in the end of a disruption, and remembers its outcome for back-offs. */
  finish(finished: DisruptionFinished): void {
    const { workflowId } = finished;
    const question = this.questions.find(workflowId);
    const [ended = question] = this.running.all.filter(
      (one) => one.slot === undefined && one.workflowId === workflowId,
    );
    this.end(workflowId);
    this.slotRequests.withdrawAll(workflowId);
    if (question?.isSuperseded === true) return;
    const now = workflowNow();
    if (ended !== undefined && this.questions.refuse(finished, ended, now)) return;
    // The state may have been lost since the disruption began; its targets are remembered all the same.
    this.memory = remember(this.memory, finished, ended ?? unknownCommand, now);
  }

  /** Drops a disruption that has ended. */
  end(workflowId: string): void {
    this.running.end(workflowId);
    this.questions.end(workflowId);
  }

  /** Forgets how often in a row pods of this NodePool were moved, since a person resumed it. */
  forgetMoveChains(nodePool: string): void {
    this.memory = withoutMoveChains(this.memory, nodePool);
  }
}
