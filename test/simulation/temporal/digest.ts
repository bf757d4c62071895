import type { Command } from './sandbox.js';

/** What two runs of the same code must agree on: the kinds of commands, their numbers, and whom they concern. */
export function digestOf(commands: readonly Command[]): string {
  return commands
    .map((command) => {
      const [kind = '', body] =
        Object.entries(command).find(
          ([name, value]) => value !== null && value !== undefined && name !== 'userMetadata' && name !== 'variant',
        ) ?? [];
      const { seq, activityType, workflowId, signalName, workflowType, patchId } = (body ?? {}) as Record<
        string,
        unknown
      >;
      return [kind, seq, activityType, workflowType, workflowId, signalName, patchId]
        .filter((part) => part !== undefined)
        .map(String)
        .join(' ');
    })
    .join('; ');
}
