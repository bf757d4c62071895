import { CommanderError } from 'commander';
import { messageOf } from '../core/error-message.js';
import { onOneLine } from '../core/text.js';
import { exitStatus } from './exit.js';

/** Errors of the clients of Temporal, Kubernetes and clouds: a refusal, or no answer. By name: the class may be of another bundle. */
const refusalNames: ReadonlySet<string> = new Set([
  'ServiceError',
  'NamespaceNotFoundError',
  'DomainError',
  'TimeoutError',
  'AbortError',
]);

/** Mistakes in what the user gave. */
const inputNames: ReadonlySet<string> = new Set(['UsageError', 'KubeconfigError', 'SettingsError', 'CatalogueError']);

/** How the command ends where it was thrown this: its exit status, and what it says on the standard error. */
export function failureOf(error: unknown): { readonly status: number; readonly said: string } {
  // Commander has said it itself.
  if (error instanceof CommanderError)
    return { status: error.exitCode === 0 ? exitStatus.ok : exitStatus.badInput, said: '' };
  if (!(error instanceof Error)) return { status: exitStatus.failed, said: `stowage: ${String(error)}\n` };
  if (inputNames.has(error.name)) return { status: exitStatus.badInput, said: `stowage: ${error.message}\n` };
  // Where in the command that was is of no use to anybody.
  const said = isFromOutside(error) ? onOneLine(messageOf(error)) : (error.stack ?? error.message);
  return { status: exitStatus.failed, said: `stowage: ${said}\n` };
}

/** Whether a service, a network or a file system refused, in place of a slip of ours: AWS has its marks, and Node the call that failed. */
function isFromOutside(error: Error): boolean {
  const isClouds = '$fault' in error || '$metadata' in error || 'tryNextLink' in error;
  return refusalNames.has(error.name) || isClouds || 'syscall' in error || messageOf(error) === 'fetch failed';
}
