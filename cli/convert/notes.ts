import type { FieldError } from '../objects/check.js';

/** The effect of the conversion on one field of one object. */
export interface Note {
  /** File, and position of the object in it. */
  readonly where: string;
  /** Kind and name in the input. */
  readonly object: string;
  /** `changed`: equivalent. `check`: based on an assumption. `lost`: not carried over. */
  readonly effect: 'changed' | 'check' | 'lost';
  readonly field: string;
  readonly message: string;
}

/** Collects the notes about one object. */
export class Notes {
  readonly all: Note[] = [];
  /** By field: why the object cannot be converted. */
  readonly problems = new Map<string, string>();

  constructor(
    private readonly where: string,
    private readonly object: string,
  ) {}

  changed(field: string, message: string): void {
    this.add('changed', field, message);
  }

  check(field: string, message: string): void {
    this.add('check', field, message);
  }

  lost(field: string, message: string): void {
    this.add('lost', field, message);
  }

  /** Only the first problem of a field counts, since others may follow from it. */
  problem({ field, message }: Pick<FieldError, 'field' | 'message'>): undefined {
    if (!this.problems.has(field)) this.problems.set(field, message);
  }

  private add(effect: Note['effect'], field: string, message: string): void {
    this.all.push({ where: this.where, object: this.object, effect, field, message });
  }
}

/** The notes as text: by object, one line for each field. */
export function notesText(notes: readonly Note[]): string {
  const lines: string[] = [];
  let last = '';
  for (const { where, object, effect, field, message } of notes) {
    const title = `${where}: ${object}`;
    if (title !== last) lines.push(title);
    last = title;
    lines.push(`  ${effect.padEnd(8)} ${field === '' ? '' : `${field}: `}${message}`);
  }
  const count = (effect: Note['effect']): number => notes.filter((note) => note.effect === effect).length;
  lines.push(`${count('changed')} changed, ${count('check')} to check, ${count('lost')} not carried over`);
  return `${lines.join('\n')}\n`;
}
