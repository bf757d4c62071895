import { convertObjects, isKarpenters } from './convert/convert.js';
import { inputsOf } from './convert/documents.js';
import { notesText } from './convert/fields.js';
import { exitStatus, UsageError } from './exit.js';
import { readDocuments } from './objects/read-documents.js';

export interface ConvertOptions {
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly report: 'text' | 'json';
  /** Print what could be converted even if other objects could not. */
  readonly keepGoing?: boolean;
  /** Fail if anything is to be checked, or was not carried over. */
  readonly strict?: boolean;
}

interface Converted {
  readonly yaml: string;
  readonly report: string;
  readonly status: number;
}

/**
 * `stowage convert`: converts older Karpenter YAML to v1, and reports the changes. Throws one `UsageError` for all
 * errors.
 */
export function convert(files: readonly string[], options: ConvertOptions): Converted {
  const broken: string[] = [];
  const inputs = (files.length === 0 ? ['-'] : files).flatMap((file) =>
    collecting(broken, () => readDocuments(file)).flatMap((each) =>
      collecting(broken, () => inputsOf(each, isKarpenters)),
    ),
  );
  const { role, instanceProfile, report } = options;
  const { documents, notes, problems } = convertObjects(inputs, {
    ...(role === undefined ? {} : { role }),
    ...(instanceProfile === undefined ? {} : { instanceProfile }),
  });
  const all = [...broken, ...problems];
  if (all.length > 0 && options.keepGoing !== true) throw new UsageError(all.join('\n'));
  const isDoubtful = options.strict === true && notes.some(({ effect }) => effect !== 'changed');
  return {
    yaml: documents.join('---\n'),
    report:
      report === 'json'
        ? `${JSON.stringify({ notes, problems: all }, null, 1)}\n`
        : [...all, notesText(notes)].join('\n'),
    status: all.length > 0 ? exitStatus.badInput : isDoubtful ? exitStatus.failed : exitStatus.ok,
  };
}

function collecting<T>(problems: string[], read: () => T[]): T[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    problems.push(error.message);
    return [];
  }
}
