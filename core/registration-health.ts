import type { Condition } from '../api/kubernetes.js';
import type { ConditionChange } from './conditions.js';
import { timeText } from './time.js';

/** Karpenter's ring holds this many outcomes, and half of them failed means unhealthy (node-pools/registration-health). */
const slots = 4;
const tooManyFailures = 2;
const longestMessage = 300;
/** The reason of an outcome where the instance ended before its node registered. */
export const instanceEnded = 'InstanceEnded';
/** What is said of a NodeClaim whose instance has no Node, as Karpenter says it. */
export const nodeNotFound = { reason: 'NodeNotFound', message: 'Node not registered with cluster' } as const;
/** How long a NodePool backs off after a claim of it got no node: pods that pend are planned every ten seconds. */
const poolBackOffMs = 60_000;

/** How one claim of a NodePool fared: its node registered, or it was given up before that. */
export interface RegistrationOutcome {
  readonly claimUid: string;
  readonly registered: boolean;
  /** When it was given up, milliseconds of the epoch. */
  readonly at?: number;
  /** Why not: the reason and message of the condition that the claim hung on. */
  readonly reason?: string;
  readonly message?: string;
}

/** What the outcomes are about: those of another template or node class say nothing any more. */
export interface RegistrationSubject {
  readonly poolGeneration: number | undefined;
  readonly nodeClassGeneration: number | undefined;
  /** What the NodePool says of these generations already: Karpenter, whose outcomes are not known, may have written it. */
  readonly said?: Pick<Condition, 'status'> & Partial<Pick<Condition, 'reason' | 'message'>>;
}

interface Ring {
  readonly of: string;
  /** Oldest first. */
  readonly outcomes: readonly RegistrationOutcome[];
}

/**
 * The ring with `outcome` in it, as the text to keep on the NodePool; undefined when it says nothing new. A claim's
 * outcome counts once, however often it is recorded.
 */
export function withRegistration(
  text: string | undefined,
  subject: RegistrationSubject,
  outcome: RegistrationOutcome,
): string | undefined {
  const of = nameOf(subject);
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
  const outcomes = outcomesOf(text, nameOf(subject), subject);
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
 * Why no nodes of a NodePool are planned now, so that its pods go to others (node-pools/failing-pools-rest): its last claim got no node, and the
 * one before it did not show that others do. `text` is what is kept on the NodePool.
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
  // No back-off is longer, whoever wrote the annotation.
  if (Math.abs(now - last.at) >= poolBackOffMs) return undefined;
  return `backs off until ${timeText(last.at + poolBackOffMs)}, because its last node ${whyNoNode(last)}`;
}

function whyNoNode({ reason, message }: RegistrationOutcome): string {
  if (message === undefined) return 'did not register';
  return reason === instanceEnded ? `did not register: ${message}` : `was not launched: ${message}`;
}

function nameOf({ poolGeneration, nodeClassGeneration }: RegistrationSubject): string {
  return `${poolGeneration ?? 0}/${nodeClassGeneration ?? 0}`;
}

/** Nothing where there is nothing, where it is about something else, or where somebody wrote over it. */
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

/** The fewest outcomes that come to what is said, as Karpenter takes them after a restart. */
function outcomesSaid(said: RegistrationSubject['said']): readonly RegistrationOutcome[] {
  if (said?.status === 'True') return [{ claimUid: '', registered: true }];
  if (said?.status !== 'False') return [];
  const { reason, message } = said;
  const why = { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
  return Array.from({ length: tooManyFailures }, (_, i) => ({ claimUid: String(i), registered: false, ...why }));
}
