import type {
  DisruptionFinished,
  CandidateRef,
  OpenQuestion,
  QuestionsState,
  ReconsiderOrder,
  Refused,
  RunningDisruption,
} from '../messages.js';
import { refusals } from '../messages.js';
import { checkActor, refuse } from '../people/orders.js';

const hour = 3_600_000;
/** Bounds the state that continue-as-new carries: the latest are kept. */
const mostRefused = 200;

/** How long a refused command is not proposed again, by the outcome. */
const refusedFor: ReadonlyMap<string | undefined, number> = new Map([
  ['rejected', 24 * hour],
  ['aborted', hour],
]);

/** The state of `disrupt` about commands that wait for approval and commands that were refused. */
export class Questions {
  private questions: readonly OpenQuestion[];
  private refusedCommands: readonly Refused[];

  constructor(carried?: QuestionsState) {
    this.questions = carried?.open ?? [];
    this.refusedCommands = carried?.refused ?? [];
  }

  get open(): readonly OpenQuestion[] {
    return this.questions;
  }

  /** Commands that wait for approval, or for a slot after it. */
  get waiting(): readonly OpenQuestion[] {
    return this.questions.filter(({ isGranted }) => isGranted !== true);
  }

  get refused(): readonly Refused[] {
    return this.refusedCommands;
  }

  /** Undefined when there is nothing to carry over. */
  get state(): QuestionsState | undefined {
    const { questions: open, refusedCommands: refused } = this;
    return open.length + refused.length === 0 ? undefined : { open, refused };
  }

  find(workflowId: string): OpenQuestion | undefined {
    return this.questions.find((one) => one.workflowId === workflowId);
  }

  ask(question: OpenQuestion): void {
    this.end(question.workflowId);
    this.questions = [...this.questions, question];
  }

  /** Open questions about any of these nodes. */
  about(nodes: readonly CandidateRef[]): readonly OpenQuestion[] {
    const uids = new Set(nodes.map(({ claim }) => claim.uid));
    return this.questions.filter(
      ({ isGranted, candidates }) => isGranted !== true && candidates.some(({ claim }) => uids.has(claim.uid)),
    );
  }

  granted(workflowId: string): void {
    this.change(workflowId, { isGranted: true });
  }

  withdrawn(workflowId: string, why: string, isSuperseded: boolean): void {
    this.change(workflowId, { withdrawn: why, ...(isSuperseded ? { isSuperseded } : {}) });
  }

  end(workflowId: string): void {
    this.questions = this.questions.filter((one) => one.workflowId !== workflowId);
  }

  /** Records a refusal; returns whether the outcome was one. */
  refuse({ outcome, reason }: DisruptionFinished, of: RunningDisruption, now: number): boolean {
    const forMs = refusedFor.get(outcome);
    if (forMs === undefined) return false;
    const { reason: cause, candidates: nodes, saves = 0 } = of;
    const refused = { reason: cause, nodes, saves, why: (reason ?? outcome ?? '').slice(0, 160), at: now };
    this.refusedCommands = [...this.refusedCommands, { ...refused, until: now + forMs }].slice(-mostRefused);
    return true;
  }

  /** Takes in refusals with those that were recorded on NodePools. */
  remember(refused: readonly Refused[]): void {
    this.refusedCommands = refused.slice(-mostRefused);
  }

  expire(now: number): void {
    if (this.refusedCommands.some(({ until }) => until <= now))
      this.refusedCommands = this.refusedCommands.filter(({ until }) => until > now);
  }

  /** When the next refusal ends, milliseconds of the epoch; infinity when there is none. */
  nextEnd(): number {
    return Math.min(...this.refusedCommands.map(({ until }) => until));
  }

  reconsider(order: ReconsiderOrder): readonly Refused[] {
    this.refusedCommands = this.refusedCommands.filter((one) => !concerns(one, order));
    return this.refusedCommands;
  }

  /** Throws a typed refusal for an order that makes no sense. */
  checkReconsider(order: ReconsiderOrder): void {
    checkActor(order);
    const { node, nodePool, all } = order;
    const given = [node, nodePool, all === true ? true : undefined].filter((one) => one !== undefined);
    if (given.length !== 1)
      throw refuse(refusals.invalid, 'give one of node, nodePool and all, such as {"actor":"ann","node":"node-1"}');
    for (const [field, text] of Object.entries({ node, nodePool }))
      if (text !== undefined && (typeof text !== 'string' || text === ''))
        throw refuse(refusals.invalid, `${field} is ${JSON.stringify(text).slice(0, 60)}: give a name`);
    if (this.refusedCommands.some((one) => concerns(one, order))) return;
    const there = [...new Set(this.refusedCommands.flatMap(({ nodes }) => nodes.map((one) => one.node)))].slice(0, 10);
    throw refuse(
      refusals.nothingRefused,
      `nothing is refused for ${node ?? nodePool ?? 'any node'}; refused: ${there.join(', ') || 'nothing'}`,
    );
  }

  private change(workflowId: string, more: Partial<OpenQuestion>): void {
    this.questions = this.questions.map((one) => (one.workflowId === workflowId ? { ...one, ...more } : one));
  }
}

function concerns({ nodes }: Refused, { node, nodePool, all }: ReconsiderOrder): boolean {
  if (all === true) return true;
  return nodes.some((one) => one.node === node || one.claim.name === node || one.nodePool === nodePool);
}
