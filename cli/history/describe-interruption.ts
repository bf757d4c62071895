import type { HandleInterruptionResult, InterruptionNotice } from '../../workflows/messages.js';
import { counted } from '../../core/text.js';
import { fieldsOf, phaseOf, resultOf, taintText, textOr } from './read-fields.js';
import type { Step } from './records.js';
import type { Describer } from './describer.js';
import { timeText } from '../../core/time.js';

const phases: ReadonlyMap<string, string> = new Map([
  ['replacing', 'a replacement is launched before the drain'],
  ['replacing ahead', 'a replacement is launched ahead of an interruption'],
]);

/** `handleInterruption`: each notice of the cloud, and the remaining time at the end. */
export function interruptionDescriber(): Describer {
  return (step) => {
    if (step.is === 'message') return step.name === 'interruption' ? noticeText(step) : undefined;
    const result = resultOf<HandleInterruptionResult>(step);
    return result === undefined ? (taintText(step) ?? phases.get(phaseOf(step) ?? '')) : endText(result);
  };
}

function noticeText({ input }: Extract<Step, { is: 'message' }>): string {
  const { kind, at } = fieldsOf<InterruptionNotice>(input);
  return `interruption notice: ${textOr(kind, 'unknown')}${at === undefined ? '' : `, given at ${timeText(at)}`}`;
}

function endText({ outcome, secondsToSpare }: Partial<HandleInterruptionResult>): string {
  if (outcome === 'unknown-instance') return 'interruption over: no NodeClaim has that instance';
  if (outcome === 'noted') return 'interruption noted: the node stays';
  if (outcome === 'handed-over') return 'interruption over: another workflow was terminating the node already';
  if (secondsToSpare === undefined) return 'interruption over: the node is gone';
  const seconds = counted(Math.abs(secondsToSpare), 'second');
  return `interruption over: the node was gone ${seconds} ${secondsToSpare < 0 ? 'after' : 'before'} the cloud was to take the instance`;
}
