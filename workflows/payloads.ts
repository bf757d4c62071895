import {
  absentOr,
  epochMs,
  flag,
  listOf,
  nothing,
  number,
  object,
  oneOf,
  optional,
  span,
  text,
  workflowId,
  type Shape,
} from '../core/shapes.js';

/*
 * Anyone with access to Temporal can signal a workflow by hand, with any payload. A signal handler that throws would
 * block its workflow, so payloads are checked before: malformed ones are ignored, logged, and shown in `explain`.
 */

const texts = listOf(text);
const claim = object({ name: text, uid: text });
const mark = object({ kind: oneOf('NodeClaim', 'Node'), name: text, resourceVersion: text });
const offering = { capacityType: text, instanceType: text, zone: text, placement: optional(text) };

/** A notice about an instance, in a signal and in the input of the workflow. */
export const interruptionShape = object({ kind: text, instanceId: text, at: epochMs, messageId: text });

/** The shape of each signal's payload, by its name. Signals of people's orders are in `orderSignals`. */
export const payloadShapes: ReadonlyMap<string, Shape> = new Map([
  ['podsPending', nothing],
  ['deletingNodes', object({ nodes: texts, until: epochMs, marks: listOf(mark), request: absentOr(text), every: absentOr(flag) })],
  ['replace', object({ id: text, nodes: texts, replyTo: workflowId, reason: text, holdMs: span })],
  [
    'replacementsPlanned',
    object({ id: text, claims: listOf(claim), unplaced: number, firstReason: optional(text) }),
  ],
  ['nodeChanged', nothing],
  ['stopLaunch', object({ replyTo: absentOr(workflowId) })],
  ['launchStopped', object({ providerId: absentOr(text) })],
  [
    'launchEnded',
    object({ uid: text, outcome: oneOf('initialized', 'deleted', 'superseded'), message: optional(text) }),
  ],
  ['interruption', interruptionShape],
  ['offeringsRefused', listOf(object({ ...offering, reason: text, until: absentOr(epochMs) }))],
  ['offeringSucceeded', object(offering)],
  ['clusterChanged', nothing],
  ['replicasChanged', nothing],
  ['rolloutChanged', nothing],
  ['withdraw', object({ why: text, isSuperseded: absentOr(flag) })],
]); // prettier-ignore

/**
 * Signals that carry a person's order. `handleOrderSignal` checks them with the validator of the update of the same
 * name (people/orders.ts).
 *
 * @testOnly every signal has to be checked in one way or the other
 */
export const orderSignals: readonly string[] =
  'pause resume approve reject abort retry rollback hold expedite reconsider'.split(' ');

/** Why the signal's payload is malformed; undefined if it is well-formed. */
export function malformed(name: string, payload: unknown): string | undefined {
  return payloadShapes.get(name)?.(payload, '');
}
