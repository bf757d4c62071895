import { convertObjects, isKarpenters } from './convert/convert.js';
import { readDocuments } from './convert/documents.js';
import { notesText } from './convert/notes.js';

export interface ConvertOptions {
  readonly role?: string;
  readonly instanceProfile?: string;
  readonly report: 'text' | 'json';
}

/** `stowage convert`: older Karpenter YAML as v1, and what became of it. Throws `UsageError` for broken input. */
export function convert(
  files: readonly string[],
  options: ConvertOptions,
): { readonly yaml: string; readonly report: string } {
  const inputs = (files.length === 0 ? ['-'] : files).flatMap((file) => readDocuments(file, isKarpenters));
  const { role, instanceProfile, report } = options;
  const { documents, notes } = convertObjects(inputs, {
    ...(role === undefined ? {} : { role }),
    ...(instanceProfile === undefined ? {} : { instanceProfile }),
  });
  return {
    yaml: documents.length === 0 ? '' : `${documents.join('\n---\n')}\n`,
    report: report === 'json' ? `${JSON.stringify({ notes }, null, 1)}\n` : notesText(notes),
  };
}
