import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import type { AskedQuestion, Explanation, Failing } from './messages.js';
import { factsTable } from './facts-table.js';
import { explainQuery, phaseQuery, searchAttributes, usualOutcomeOf } from './messages.js';
import { noteIgnoredSignals, setQueryHandler } from './handlers.js';
import { timeText } from '../core/time.js';

/** Changes of facts; undefined removes a fact. */
export type ChangedFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Phases that pass soon, or that only show that the workflow runs. The current details always contain them. As an
 * attribute they are written only to replace a phase that people search for, such as `retrying` or one that waits for
 * people, because each write is an action of Temporal Cloud.
 */
const passing: ReadonlySet<unknown> = new Set([
  ...[
    'starting',
    'preparing',
    'idle',
    'watching',
    'searching',
    'packing',
    'waiting to plan',
    'creating',
    'keeping',
    'removing',
  ],
  ...['launching', 'registering', 'initializing', 'validating', 'tainting', 'measuring'],
  ...['stopping the launch', 'draining', 'detaching volumes', 'terminating the instance', 'finishing'],
]);

/**
 * What people see of a workflow: current details in the Temporal UI, the `explain` and `phase` queries, and the search
 * attributes. Attributes are written only when they change, because each write adds an event to the history.
 */
export class Progress {
  private current: Explanation;
  private readonly written = new Map<string, unknown>();

  constructor(
    private readonly title: string,
    attributes: readonly SearchAttributeUpdatePair[],
    facts: Explanation['facts'] = {},
    phase = 'starting',
  ) {
    this.current = { phase, facts };
    for (const { key, value } of workflowInfo().typedSearchAttributes.getAll()) this.written.set(key.name, value);
    setQueryHandler(explainQuery, () => this.current);
    setQueryHandler(phaseQuery, () => this.current.phase);
    this.attributes([...attributes, { key: searchAttributes.phase, value: phase }]);
    this.describe();
    noteIgnoredSignals((ignored) => this.addFacts(ignored));
  }

  /**
   * Enters a phase, or updates what the phase waits for. `until` is in milliseconds of the epoch. `attributes` are
   * written in one event with the phase.
   */
  enter(
    phase: string,
    detail: {
      waitingFor?: string;
      until?: number | undefined;
      facts?: ChangedFacts;
      attributes?: readonly SearchAttributeUpdatePair[];
    } = {},
  ): void {
    this.current = {
      phase,
      ...(detail.waitingFor === undefined ? {} : { waitingFor: detail.waitingFor }),
      ...(detail.until === undefined ? {} : { until: new Date(detail.until).toISOString() }),
      ...kept(this.current),
      facts: changed(this.current.facts, detail.facts),
    };
    this.attributes([...(detail.attributes ?? []), { key: searchAttributes.phase, value: phase }]);
    this.describe();
  }

  /** Adds facts without a change of phase, and removes those that are undefined. */
  addFacts(facts: ChangedFacts): void {
    this.current = { ...this.current, facts: changed(this.current.facts, facts) };
    this.describe();
  }

  /** Shows the question that waits for a person's answer; undefined if none does. */
  setQuestion(question: AskedQuestion | undefined): void {
    const { question: before, ...current } = this.current;
    if (before === undefined && question === undefined) return;
    this.current = question === undefined ? current : { ...current, question };
  }

  /** Shows what blocks a drain. */
  setBlockedBy(blockedBy: readonly string[]): void {
    this.current = { ...this.current, blockedBy };
    this.addFacts({ 'blocked by': blockedBy.length === 0 ? 'nothing' : blockedBy.join('; ') });
  }

  /** Shows that the work fails and is retried; undefined once it has succeeded. */
  setFailing(failing: Failing | undefined): void {
    const { failing: before, ...current } = this.current;
    if (before === undefined && failing === undefined) return;
    this.current = failing === undefined ? current : { ...current, failing };
    this.describe();
  }

  /** Upserts the search attributes whose values changed. */
  attributes(pairs: readonly SearchAttributeUpdatePair[]): void {
    const changed = pairs.filter(({ key, value }) => {
      const known = this.written.get(key.name);
      if (key.name === searchAttributes.phase.name && isImplied(value, known)) return false;
      return this.written.has(key.name) ? known !== value : value !== null;
    });
    if (changed.length === 0) return;
    for (const { key, value } of changed) this.written.set(key.name, value);
    upsertSearchAttributes(changed);
  }

  /** The current answer to the `explain` query. */
  get explanation(): Explanation {
    return this.current;
  }

  get phase(): string {
    return this.current.phase;
  }

  private describe(): void {
    const { phase, waitingFor, until, failing, facts } = this.current;
    const lines = [`**${this.title}**`, '', `Phase: **${phase}**`];
    if (waitingFor !== undefined)
      lines.push('', `Waits for ${waitingFor}${until === undefined ? '' : ` until ${timeText(until)}`}`);
    if (failing !== undefined) lines.push('', `Fails since ${timeText(failing.since)}: ${failing.why}`);
    lines.push(...factsTable(facts));
    setCurrentDetails(lines.join('\n'));
  }
}

/** Whether a phase needs no attribute, where `known` was written last. */
function isImplied(phase: unknown, known: unknown): boolean {
  if (known === undefined) return passing.has(phase) || phase === usualOutcomeOf(workflowInfo().workflowType);
  return passing.has(phase) && passing.has(known);
}

function changed(facts: Explanation['facts'], changes: ChangedFacts = {}): Explanation['facts'] {
  const all = Object.entries({ ...facts, ...changes });
  return Object.fromEntries(all.filter((each): each is [string, string | number | boolean] => each[1] !== undefined));
}

/** The parts that stay when the phase changes. */
function kept({ question, blockedBy, failing }: Explanation): Partial<Explanation> {
  return {
    ...(question === undefined ? {} : { question }),
    ...(blockedBy === undefined ? {} : { blockedBy }),
    ...(failing === undefined ? {} : { failing }),
  };
}
