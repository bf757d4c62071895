import { digestOf } from './hash.js';
import { lookUp } from './own.js';
import type { EventSubject } from './events.js';

/** What is told to a webhook: the names are part of its contract (docs/notifications.md). */
type NotificationType = 'question' | 'blocked' | 'forced' | 'failed' | 'paused' | 'launched' | 'disrupted';

/** Reasons of Kubernetes events, by what they are told as; every other event is Kubernetes' alone. */
const typeOfReason: Readonly<Record<string, NotificationType>> = {
  AwaitsApproval: 'question',
  ConsolidationAwaitsApproval: 'question',
  FailedDraining: 'blocked',
  NodeRepairBlocked: 'blocked',
  DrainForced: 'forced',
  InsufficientCapacityError: 'failed',
  InstanceEnded: 'failed',
  NodeClassNotReady: 'failed',
  NodeClaimRefused: 'failed',
  NoInstanceTypeSuits: 'failed',
  DriftRolledBack: 'failed',
  RolloutStopped: 'failed',
  DisruptionPaused: 'paused',
  DisruptionResumed: 'paused',
  Launched: 'launched',
  DisruptionTerminating: 'disrupted',
  Terminating: 'disrupted',
};

function notificationType(reason: string): NotificationType | undefined {
  return lookUp(typeOfReason, reason);
}

interface NotifiableEvent {
  readonly regarding: EventSubject;
  readonly reason: string;
  readonly message: string;
  readonly dedupeBy?: readonly string[];
}

/** A CloudEvent 1.0 in its structured JSON form. */
export interface CloudEvent {
  readonly specversion: '1.0';
  /** The same for equal events, however often and by whichever process they are sent. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: {
    readonly cluster: string;
    readonly reason: string;
    readonly message: string;
    readonly object: EventSubject;
  };
}

/** The form in which a webhook gets an event; undefined for events that it does not get. `windowMs`: after this time an equal event has another id. */
export function cloudEventOf(
  { regarding: object, reason, message, dedupeBy }: NotifiableEvent,
  { cluster, now, windowMs }: { readonly cluster: string; readonly now: number; readonly windowMs: number },
): CloudEvent | undefined {
  const type = notificationType(reason);
  if (type === undefined) return undefined;
  const { kind, namespace, name, uid = '' } = object;
  const subject = [kind.toLowerCase(), ...(namespace === undefined ? [] : [namespace]), name].join('/');
  const same = [cluster, reason, subject, uid, ...(dedupeBy ?? [message]), String(Math.floor(now / windowMs))];
  return {
    ...{ specversion: '1.0', id: digestOf(same), source: `/stowage/${cluster}` },
    ...{ type: `dev.stowage.${type}`, subject, time: new Date(now).toISOString() },
    datacontenttype: 'application/json',
    data: { cluster, reason, message, object },
  };
}
