import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/error-message.js';
import type { Log } from '../../core/telemetry.js';
import { readSecretFile } from '../settings.js';
import type { EventRecorder, EventToPublish } from '../../kube/port.js';
import { digestOf } from '../../core/hash.js';
import { lookUp } from '../../core/own.js';
import type { EventSubject } from '../../core/events.js';

/** Maximum number of events that wait for an unavailable receiver; later ones are dropped and counted. */
const longestQueue = 1000;
/** Equal events are sent once within this time. */
const windowMs = 600_000;
const mostRemembered = 4096;
const answerWithinMs = 10_000;
const retriesAfterMs: readonly number[] = [1000, 5000, 15_000, 60_000, 300_000];
/** Status codes with which a retry is useless. */
const isFinal = (status: number): boolean => status >= 400 && status < 500 && status !== 408 && status !== 429;

export interface NotifierOptions {
  readonly cluster: string;
  readonly url: string;
  /** Read for each event, since a secret may be rotated. */
  readonly secretFile?: string | undefined;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly now?: () => number;
  readonly post?: typeof fetch;
  readonly retriesAfterMs?: readonly number[];
}

/**
 * Sends notifications to a webhook (surfaces/notifications): CloudEvents, one after the other, signed, retried with
 * growing pauses. Never blocks: `notify` does not throw or wait, and the queue is bounded.
 */
export class Notifier {
  private readonly sent = new Set<string>();
  private readonly ended = new AbortController();
  private waiting = 0;
  private dropped = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(private readonly options: NotifierOptions) {}

  notify(event: EventToPublish): void {
    const now = (this.options.now ?? Date.now)();
    const cloudEvent = cloudEventOf(event, { cluster: this.options.cluster, now, windowMs });
    if (
      cloudEvent === undefined ||
      this.ended.signal.aborted ||
      this.isReportedOfNode(event, cloudEvent) ||
      this.isKnown(cloudEvent.id)
    )
      return;
    if (this.waiting >= longestQueue) {
      if (this.dropped++ === 0)
        this.options.log.warn({ waiting: this.waiting }, 'notifications are dropped: the receiver does not take them');
      return;
    }
    this.waiting++;
    this.last = this.last.then(() => this.deliver(cloudEvent)).finally(() => this.waiting--);
  }

  /** Resolves when the queue is empty. */
  idle(): Promise<void> {
    return this.last;
  }

  /** Drops the queue. */
  end(): void {
    this.ended.abort();
  }

  /** Whether an event about a NodeClaim repeats one that was sent for its node. */
  private isReportedOfNode({ reason, message, regarding: { kind } }: EventToPublish, { time }: CloudEvent): boolean {
    const key = `${Math.floor(Date.parse(time) / windowMs)} ${reason} ${message}`;
    if (kind === 'Node') this.remember(key);
    return kind === 'NodeClaim' && this.sent.has(key);
  }

  private isKnown(id: string): boolean {
    if (this.sent.has(id)) return true;
    this.remember(id);
    return false;
  }

  private remember(key: string): void {
    this.sent.add(key);
    const [oldest] = this.sent;
    if (this.sent.size > mostRemembered && oldest !== undefined) this.sent.delete(oldest);
  }

  private async deliver(event: CloudEvent): Promise<void> {
    const pauses = this.options.retriesAfterMs ?? retriesAfterMs;
    for (let attempt = 0; !this.ended.signal.aborted; attempt++) {
      const failure = await this.attempt(event).catch((error: unknown) => ({ why: messageOf(error), isFinal: false }));
      if (failure === undefined) {
        this.recovered();
        return;
      }
      const pause = pauses[attempt];
      if (failure.isFinal || pause === undefined) {
        this.options.log.warn(
          { type: event.type, subject: event.subject, why: failure.why },
          'a notification was not taken',
        );
        return;
      }
      await sleep(pause, undefined, { signal: this.ended.signal, ref: false }).catch(() => undefined);
    }
  }

  private async attempt(event: CloudEvent): Promise<{ readonly why: string; readonly isFinal: boolean } | undefined> {
    const { secretFile, post = fetch } = this.options;
    // fetch rejects a URL with credentials and would quote it in the error.
    const { url, headers } = withoutCredentials(this.options.url);
    const body = JSON.stringify(event);
    const secret =
      secretFile === undefined
        ? undefined
        : readSecretFile('NOTIFY_SECRET_FILE', secretFile)
            .toString('utf8')
            .replace(/[\r\n]+$/, '');
    const { status, body: answer } = await post(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/cloudevents+json',
        ...(secret === undefined ? {} : signatureOf(secret, body)),
      },
      body,
      redirect: 'error',
      signal: AbortSignal.any([this.ended.signal, AbortSignal.timeout(answerWithinMs)]),
    });
    await answer?.cancel();
    return status < 300 ? undefined : { why: `HTTP status ${status}`, isFinal: isFinal(status) };
  }

  private recovered(): void {
    if (this.dropped === 0) return;
    this.options.log.info({ dropped: this.dropped }, 'notifications are taken again');
    this.dropped = 0;
  }
}

function withoutCredentials(text: string): {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const url = new URL(text);
  const user = [url.username, url.password].map(decodeURIComponent).join(':');
  url.username = url.password = '';
  if (user === ':') return { url: url.href, headers: {} };
  return { url: url.href, headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` } };
}

/** As usual for webhooks: the HMAC of the exact bytes of the body. */
export function signatureOf(secret: string, body: string): { readonly 'x-stowage-signature-256': string } {
  return { 'x-stowage-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}

/** A recorder that publishes events as `recorder` does, and also as notifications. */
export function notifying<R extends EventRecorder>(recorder: R, notifier: Pick<Notifier, 'notify'> | undefined): R {
  if (notifier === undefined) return recorder;
  return {
    ...recorder,
    publish: (event: EventToPublish): void => {
      recorder.publish(event);
      notifier.notify(event);
    },
  };
}

/** Types of notifications; the names are part of the contract (docs/notifications.md). */
type NotificationType = 'question' | 'blocked' | 'forced' | 'failed' | 'paused' | 'launched' | 'disrupted';

/** Notification types by reason of the Kubernetes event; other events are not sent. */
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

/** A CloudEvent 1.0 in structured JSON mode. */
interface CloudEvent {
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

/**
 * Converts an event for the webhook; undefined for events that are not sent. `windowMs`: after this time an equal event
 * gets another id.
 */
function cloudEventOf(
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
