import type { CreatedClaim } from '../../activities/provisioning/contract.js';
import type { RepairView } from '../../activities/repair/contract.js';
import { counted } from '../../core/text.js';
import type {
  ConsolidateInput,
  ConsolidateResult,
  Decision,
  RepairNodeResult,
  ReplaceNodeInput,
  ReplaceNodeResult,
  ExpireNodeInput,
  ExpireNodeResult,
} from '../../workflows/messages.js';
import { hourly } from '../output/table.js';
import { type About, callOf, type Describer, fieldsOf, phaseOf, resultOf, type Step, taintText } from './records.js';
import { timeText } from '../../core/time.js';

const phases: ReadonlyMap<string, string> = new Map([
  ['waiting for its turn', 'waits for its turn'],
  ['replacing', 'a replacement is launched first'],
]);

/** Steps that all kinds of disruption share. */
const onTheWay = (step: Step): string | undefined =>
  taintText(step) ?? createdText(step) ?? phases.get(phaseOf(step) ?? '');

type Created = Readonly<{ created: readonly CreatedClaim[] }>;

/** Replacements created by the disruption. */
function createdText(step: Step): string | undefined {
  const created = callOf<unknown, Created>(step, 'createClaims')?.result.created ?? [];
  if (created.length === 0) return undefined;
  return `${counted(created.length, 'replacement')} launched: ${created.map(({ name }) => name).join(', ')}`;
}

/** `consolidate`: the command, its reason and its outcome. */
export function consolidationDescriber({ claimName }: About): Describer {
  let own: string | undefined;
  return (step) => {
    if (step.is === 'started') {
      const input = fieldsOf<ConsolidateInput>(step.input);
      own = input.candidates?.find(({ claim }) => claim.name === claimName)?.node;
      return proposalText(input, claimName);
    }
    const result = resultOf<ConsolidateResult>(step);
    if (result === undefined) return onTheWay(step);
    const stays = own !== undefined && result.terminated?.includes(own) === false;
    return result.outcome === 'done' && stays ? 'disruption done; this node stays' : consolidationEnd(result);
  };
}

function proposalText({ reason, candidates = [], decision }: Partial<ConsolidateInput>, claimName: string): string {
  const others = candidates.filter(({ claim }) => claim.name !== claimName).length;
  const together = others === 0 ? '' : ` together with ${counted(others, 'other node')}`;
  return `disruption proposed (${reason ?? 'unknown'})${together}${decision === undefined ? '' : decisionText(decision)}`;
}

function decisionText({ replacements, podCount, priceBefore, priceAfter }: Decision): string {
  const types = replacements.map(({ cheapest }) => cheapest.instanceType).join(', ');
  const instead =
    replacements.length === 0 ? 'no replacement' : `${counted(replacements.length, 'replacement')} (${types})`;
  const saves = priceBefore > priceAfter ? `, saves ${hourly(priceBefore - priceAfter)} per hour` : '';
  return `: ${instead}, ${counted(podCount, 'pod')} to move${saves}`;
}

function consolidationEnd({
  outcome,
  reason,
  replacements = [],
  savedPerHour = 0,
}: Partial<ConsolidateResult>): string {
  if (outcome !== 'done') return endText('disruption', outcome, reason);
  const saves = savedPerHour > 0 ? `, saves ${hourly(savedPerHour)} per hour` : '';
  return `disruption done${replacements.length === 0 ? '' : `, replaced${instead(replacements)}`}${saves}`;
}

/** `replaceNode`: one node of a rollout. */
export function replacementDescriber(): Describer {
  return (step) => {
    if (step.is === 'started')
      return `replacement proposed (${fieldsOf<ReplaceNodeInput>(step.input).reason ?? 'unknown'})`;
    const result = resultOf<ReplaceNodeResult>(step);
    if (result === undefined) return onTheWay(step);
    const { outcome, reason, replacements = [] } = result;
    if (outcome === 'replaced') return `replaced${instead(replacements.map(({ name }) => name))}`;
    return endText('replacement', outcome, reason);
  };
}

/** `expireNode`: from the start of the node's life until it expires. */
export function expirationDescriber(): Describer {
  return (step) => {
    if (step.is === 'started') {
      const { expiresAt } = fieldsOf<ExpireNodeInput>(step.input);
      return step.isContinued || expiresAt === undefined ? undefined : `expires at ${timeText(expiresAt)}`;
    }
    const result = resultOf<ExpireNodeResult>(step);
    if (result === undefined) return onTheWay(step);
    const { outcome, reason, replacements = [] } = result;
    if (outcome === 'gone') return undefined;
    if (outcome === 'replaced') return `expired and replaced${instead(replacements)}`;
    if (outcome === 'forced') return 'expired and removed without waiting for a replacement';
    return endText('expiration', outcome, reason);
  };
}

const repairPhases: ReadonlyMap<string, string> = new Map([
  ['rebooting', 'the instance is rebooted'],
  ['blocked', 'repair is not allowed yet'],
]);

type Unhealthy = Extract<RepairView, { state: 'unhealthy' }>;

/** `repairNode`: the unhealthy condition, its time, and the steps taken. */
export function repairDescriber(): Describer {
  let shown = '';
  return (step) => {
    const view = callOf<unknown, Unhealthy>(step, 'inspectRepair')?.result;
    if (view?.condition !== undefined && view.condition !== shown) {
      shown = view.condition;
      const since = view.since === undefined ? '' : ` since ${timeText(view.since)}`;
      return `unhealthy: ${shown}${since}${view.dueAt === undefined ? '' : `, repaired from ${timeText(view.dueAt)}`}`;
    }
    const result = resultOf<RepairNodeResult>(step);
    if (result === undefined) return repairPhases.get(phaseOf(step) ?? '') ?? onTheWay(step);
    return endText('repair', result.outcome, result.reason);
  };
}

const instead = (names: readonly string[]): string => (names.length === 0 ? '' : ` by ${names.join(', ')}`);

/** `consolidation rejected by ann (release)`: reasons of users start with the outcome. */
function endText(what: string, outcome: string | undefined, reason: string | undefined): string {
  const end = outcome ?? 'ended';
  if (reason === undefined) return `${what} ${end}`;
  return reason.startsWith(end) ? `${what} ${reason}` : `${what} ${end}: ${reason}`;
}
