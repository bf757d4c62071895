import type { Condition } from '../api/kubernetes.js';
import type { ConditionChange } from './conditions.js';
import { timeText } from './time.js';

/** Number of outcomes in Karpenter's ring; half of them failed means unhealthy (node-pools/registration-health). */
const slots = 4;
const tooManyFailures = 2;
const longestMessage = 300;
/** Reason of an outcome if the instance ended before its node registered. */
export const instanceEnded = 'InstanceEnded';
/** Reason and message for a NodeClaim whose instance has no Node, as in Karpenter. */
export const nodeNotFound = { reason: 'NodeNotFound', message: 'Node not registered with cluster' } as const;
/** Back-off of a NodePool after a claim got no node: pending pods are planned every ten seconds. */
const poolBackOffMs = 60_000;

/** The outcome of one claim: its node registered, or the claim was given up before. */
export interface RegistrationOutcome {
  readonly claimUid: string;
  readonly registered: boolean;
  /** When it was given up, milliseconds since the epoch. */
  readonly at?: number;
  /** Reason and message of the condition that failed. */
  readonly reason?: string;
  readonly message?: string;
}

/** The generations of outcomes: outcomes of another template or node class no longer count. */
export interface RegistrationSubject {
  readonly poolGeneration: number | undefined;
  readonly nodeClassGeneration: number | undefined;
  /** The existing condition for these generations. Karpenter, whose outcomes are unknown, may have written it. */
  readonly said?: Pick<Condition, 'status'> & Partial<Pick<Condition, 'reason' | 'message'>>;
}

interface Ring {
  readonly of: string;
  /** Oldest first. */
  readonly outcomes: readonly RegistrationOutcome[];
}

/**
 * The ring with `outcome` added, as annotation text for the NodePool; undefined if nothing changes. Each claim counts
 * once, however often its outcome is recorded.
 */
export function withRegistration(
  text: string | undefined,
  subject: RegistrationSubject,
  outcome: RegistrationOutcome,
): string | undefined {
  const of = generationsOf(subject);
  const before = outcomesOf(text, of, subject);
  if (before.some(({ claimUid, registered }) => claimUid === outcome.claimUid && registered === outcome.registered)) {
    return undefined;
  }
  if (outcome.registered && before.length === slots && before.every(({ registered }) => registered)) return undefined;
  const others = before.filter(({ claimUid }) => claimUid !== outcome.claimUid);
  const message = outcome.message === undefined ? {} : { message: outcome.message.slice(0, longestMessage) };
  const ring: Ring = { of, outcomes: [...others, { ...outcome, ...message }].slice(-slots) };
  return JSON.stringify(ring);
}

/** NodeRegistrationHealthy of a NodePool (node-pools/registration-health): two failures of the last four make it False. */
export function registrationHealth(text: string | undefined, subject: RegistrationSubject): ConditionChange {
  const type = 'NodeRegistrationHealthy';
  const outcomes = outcomesOf(text, generationsOf(subject), subject);
  const failures = outcomes.filter(({ registered }) => !registered);
  const last = failures.at(-1);
  if (last !== undefined && failures.length >= tooManyFailures) {
    const { reason = 'RegistrationFailed', message = 'Failed to register node' } = last;
    return { type, status: 'False', reason, message };
  }
  if (outcomes.some(({ registered }) => registered)) return { type, status: 'True' };
  const message = 'no node of this NodePool as it is now has registered yet';
  return { type, status: 'Unknown', reason: 'AwaitingReconciliation', message };
}

/**
 * Why no nodes of a NodePool are planned now, so that its pods are planned for others (node-pools/failing-pools-rest):
 * its last claim got no node, and the one before did not register either. `text`: the annotation of the NodePool.
 */
export function whyFailingPoolRests(
  text: string | undefined,
  generation: number | undefined,
  now: number,
): string | undefined {
  const { of, outcomes } = ringIn(text);
  if (of?.startsWith(`${generation ?? 0}/`) !== true) return undefined;
  const [last, before] = outcomes.toReversed();
  if (typeof last?.at !== 'number' || last.registered || before?.registered === true) return undefined;
  // Bounded: users can write anything into the annotation.
  if (Math.abs(now - last.at) >= poolBackOffMs) return undefined;
  return `backs off until ${timeText(last.at + poolBackOffMs)}, because its last node ${whyNoNode(last)}`;
}

function whyNoNode({ reason, message }: RegistrationOutcome): string {
  if (message === undefined) return 'did not register';
  return reason === instanceEnded ? `did not register: ${message}` : `was not launched: ${message}`;
}

function generationsOf({ poolGeneration, nodeClassGeneration }: RegistrationSubject): string {
  return `${poolGeneration ?? 0}/${nodeClassGeneration ?? 0}`;
}

/** Empty without text, for other generations, and for invalid text. */
function outcomesOf(
  text: string | undefined,
  of: string,
  { said }: RegistrationSubject,
): readonly RegistrationOutcome[] {
  if (text === undefined) return outcomesSaid(said);
  const ring = ringIn(text);
  return ring.of === of ? ring.outcomes.slice(-slots) : [];
}

function ringIn(text: string | undefined): Pick<Ring, 'outcomes'> & Partial<Ring> {
  try {
    const ring = JSON.parse(text ?? 'null') as { readonly of?: unknown; readonly outcomes?: unknown } | null;
    if (typeof ring?.of !== 'string' || !Array.isArray(ring.outcomes)) return { outcomes: [] };
    const outcomes = ring.outcomes as (RegistrationOutcome | null)[];
    return { of: ring.of, outcomes: outcomes.filter((outcome) => outcome !== null) };
  } catch {
    return { outcomes: [] };
  }
}

/** The fewest outcomes that give the existing condition, as Karpenter restores them after a restart. */
function outcomesSaid(said: RegistrationSubject['said']): readonly RegistrationOutcome[] {
  if (said?.status === 'True') return [{ claimUid: '', registered: true }];
  if (said?.status !== 'False') return [];
  const { reason, message } = said;
  const why = { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
  return Array.from({ length: tooManyFailures }, (_, i) => ({ claimUid: String(i), registered: false, ...why }));
}
