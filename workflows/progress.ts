import { setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import type { Explanation } from './messages.js';
import { factsTable } from './facts-table.js';
import { explainQuery, phaseQuery, searchAttributes } from './messages.js';

/**
 * Keeps what a person reads of a workflow in one place: current details in the Temporal UI, the `explain` and `phase`
 * queries, and the search attributes. Attributes are written only when they change, for each write is an event.
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
    setHandler(explainQuery, () => this.current, { description: 'what it does, what it waits for, and why' });
    setHandler(phaseQuery, () => this.current.phase, { description: 'where it stands' });
    this.attributes([...attributes, { key: searchAttributes.phase, value: phase }]);
    this.describe();
  }

  /** Moves to a phase, or says what the phase waits for. `until` is in milliseconds of the epoch. */
  enter(
    phase: string,
    detail: { waitingFor?: string; until?: number | undefined; facts?: Explanation['facts'] } = {},
  ): void {
    this.current = {
      phase,
      ...(detail.waitingFor === undefined ? {} : { waitingFor: detail.waitingFor }),
      ...(detail.until === undefined ? {} : { until: new Date(detail.until).toISOString() }),
      facts: { ...this.current.facts, ...detail.facts },
    };
    this.attributes([{ key: searchAttributes.phase, value: phase }]);
    this.describe();
  }

  /** Adds facts without a change of phase. */
  note(facts: Explanation['facts']): void {
    this.current = { ...this.current, facts: { ...this.current.facts, ...facts } };
    this.describe();
  }

  /** Writes those search attributes that differ from what was written before. */
  attributes(pairs: readonly SearchAttributeUpdatePair[]): void {
    const changed = pairs.filter(({ key, value }) => {
      const known = this.written.get(key.name);
      return this.written.has(key.name) ? known !== value : value !== null;
    });
    if (changed.length === 0) return;
    for (const { key, value } of changed) this.written.set(key.name, value);
    upsertSearchAttributes(changed);
  }

  /** What `explain` answers. */
  get explanation(): Explanation {
    return this.current;
  }

  get phase(): string {
    return this.current.phase;
  }

  private describe(): void {
    const { phase, waitingFor, until, facts } = this.current;
    const lines = [`**${this.title}**`, '', `Phase: **${phase}**`];
    if (waitingFor !== undefined)
      lines.push('', `Waits for ${waitingFor}${until === undefined ? '' : ` until ${until}`}`);
    lines.push(...factsTable(facts));
    setCurrentDetails(lines.join('\n'));
  }
}
