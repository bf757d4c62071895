import { CommanderError } from 'commander';
import { messageOf } from '../core/error-message.js';
import { onOneLine } from '../core/text.js';
import { exitStatus } from './exit.js';

/**
 * Errors of the clients of Temporal, Kubernetes and clouds: refused or no response. By name, since the class may be
 * from another bundle.
 */
const refusalNames: ReadonlySet<string> = new Set([
  'ServiceError',
  'NamespaceNotFoundError',
  'DomainError',
  'TimeoutError',
  'AbortError',
]);

/** Errors in the user's input. */
const inputNames: ReadonlySet<string> = new Set(['UsageError', 'KubeconfigError', 'SettingsError', 'CatalogueError']);

/** Exit status and stderr output of the command after this error. */
export function failureOf(error: unknown): { readonly status: number; readonly said: string } {
  // Commander has printed it.
  if (error instanceof CommanderError)
    return { status: error.exitCode === 0 ? exitStatus.ok : exitStatus.badInput, said: '' };
  if (!(error instanceof Error)) return { status: exitStatus.failed, said: `stowage: ${String(error)}\n` };
  if (inputNames.has(error.name)) return { status: exitStatus.badInput, said: `stowage: ${error.message}\n` };
  // For external failures a stack trace does not help.
  const said = isFromOutside(error) ? onOneLine(messageOf(error)) : (error.stack ?? error.message);
  return { status: exitStatus.failed, said: `stowage: ${said}\n` };
}

/**
 * Whether a service, a network or a file system failed, as opposed to a bug: errors of AWS have typical fields, those
 * of Node name the system call.
 */
function isFromOutside(error: Error): boolean {
  const isClouds = '$fault' in error || '$metadata' in error || 'tryNextLink' in error;
  return refusalNames.has(error.name) || isClouds || 'syscall' in error || messageOf(error) === 'fetch failed';
}
