import type { LaunchInstanceResult, NodeSync } from '../../activities/launch/contract.js';
import { counted } from '../../core/text.js';
import type { LaunchNodeInput, LaunchOutcome } from '../../workflows/messages.js';
import { hourly } from '../output/table.js';
import { callOf, fieldsOf, resultOf, textOr } from './read-fields.js';
import type { Started, Step } from './records.js';
import type { About, Describer } from './describer.js';

const podsShown = 5;

/** `launchNode`: the pods, the reason, the instance, the Node. */
export function launchDescriber({ pods }: About): Describer {
  let isRegistered = false;
  return (step) => {
    if (step.is === 'started') return step.isContinued ? undefined : begunText(step, pods);
    const launched = callOf<unknown, LaunchInstanceResult>(step, 'launchInstance');
    if (launched !== undefined) return attemptText(launched.result as LaunchInstanceResult);
    const sync = nodeOf(step);
    if (sync !== undefined) {
      const before = isRegistered;
      isRegistered = true;
      return nodeText(sync, before);
    }
    const outcome = resultOf<LaunchOutcome>(step) as LaunchOutcome | undefined;
    return outcome === undefined ? undefined : outcomeText(outcome);
  };
}

function begunText({ input, summary, details }: Started, pods: readonly string[]): string {
  const { nodePool, reason } = fieldsOf<LaunchNodeInput>(input);
  const forPods = pods.length === 0 ? '' : ` for ${counted(pods.length, 'pod')}: ${podsText(pods)}`;
  const why = details ?? (pods.length === 0 ? summary : undefined);
  const parts = [
    `launch began${poolText(nodePool)}${forPods}`,
    ...(reason === undefined ? [] : [`replaces nodes (${reason})`]),
    ...(why === undefined ? [] : [why]),
  ];
  return parts.join('; ');
}

/** A standalone NodeClaim has no NodePool. */
function poolText(nodePool: unknown): string {
  return nodePool === '' ? '' : ` in NodePool ${textOr(nodePool, 'unknown')}`;
}

function podsText(pods: readonly string[]): string {
  const more = pods.length - podsShown;
  return `${pods.slice(0, podsShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function attemptText(result: LaunchInstanceResult): string | undefined {
  switch (result.state) {
    case 'launched': {
      const { instanceId, instanceType, capacityType, zone, pricePerHour } = result.instance;
      const price = pricePerHour === undefined ? '' : `, ${hourly(pricePerHour)} per hour`;
      return `instance ${instanceId} launched: ${instanceType} ${capacityType} in ${zone}${price}`;
    }
    case 'refused':
      return `launch refused (${result.reason}): ${result.message}`;
    case 'failed':
      return `launch attempt failed: ${result.message}`;
    default:
      return undefined;
  }
}

type Seen = Extract<NodeSync, { nodeName: string }>;

function nodeOf(step: Step): Seen | undefined {
  const sync = callOf<unknown, NodeSync>(step, 'syncNode')?.result as NodeSync | undefined;
  return sync?.state === 'registered' || sync?.state === 'initialized' ? sync : undefined;
}

function nodeText({ state, nodeName, message }: Seen, isRegistered: boolean): string | undefined {
  const registered = `registered as Node ${nodeName}`;
  if (state === 'initialized') return isRegistered ? 'initialized' : `${registered} and initialized`;
  return isRegistered ? undefined : `${registered}${message === '' ? '' : `; not initialized yet: ${message}`}`;
}

function outcomeText(outcome: LaunchOutcome): string | undefined {
  if (outcome.outcome === 'deleted')
    return `launch given up (${outcome.reason}): ${outcome.message}; the NodeClaim is deleted`;
  return outcome.outcome === 'superseded' ? 'launch stopped, for the NodeClaim is being deleted' : undefined;
}
