import { CommanderError } from 'commander';
import { messageOf } from '../core/error-message.js';
import { onOneLine } from '../core/printable.js';
import { exitStatus, UsageError } from './exit.js';

/** Errors of the clients of Temporal, Kubernetes and clouds: a refusal, or no answer. By name: the class may be of another bundle. */
const refusalNames: ReadonlySet<string> = new Set(['ServiceError', 'NamespaceNotFoundError', 'DomainError']);

/** How the command ends where it was thrown this: its exit status, and what it says on the standard error. */
export function failureOf(error: unknown): { readonly status: number; readonly said: string } {
  // Commander has said it itself.
  if (error instanceof CommanderError)
    return { status: error.exitCode === 0 ? exitStatus.ok : exitStatus.badInput, said: '' };
  if (error instanceof UsageError) return { status: exitStatus.badInput, said: `stowage: ${error.message}\n` };
  // Where in the command that was is of no use to anybody.
  if (error instanceof Error && refusalNames.has(error.name))
    return { status: exitStatus.failed, said: `stowage: ${onOneLine(messageOf(error))}\n` };
  const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { status: exitStatus.failed, said: `stowage: ${said}\n` };
}
