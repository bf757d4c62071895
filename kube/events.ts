import { longestName } from '../core/names.js';
import { DomainError } from '../core/failures.js';
import { hashText } from '../core/hash.js';
import { limiterClock } from './limiter.js';
import type { LimiterClock } from './limiter.js';
import type { EventRecorder, EventToPublish, KubeClient, KubernetesEvent } from './port.js';
import { lookUp } from '../core/own.js';
import { timestamp } from '../core/conditions.js';

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch'>;
  /** `source.component`; default `karpenter`, which dashboards and alerts expect. */
  readonly component?: string;
  /** `reportingInstance`: the pod's name. */
  readonly instance?: string;
  readonly clock?: LimiterClock;
  /** Events per second by reason; default as in Karpenter (events/nominations-limited). Excess events are dropped. */
  readonly rates?: Readonly<Record<string, { readonly qps: number; readonly burst: number }>>;
  /** Called for events that could not be published; default none. */
  readonly onFailure?: (event: EventToPublish, error: Error) => void;
}

const defaultDedupeMs = 120_000;
const defaultRates = { Nominated: { qps: 5, burst: 10 } };
/** Events are published one after the other; if more than this are waiting, the newest are dropped. */
const longestQueue = 1000;
/** Maximum number of series (one object, one reason, one message) whose Event is updated instead of created again. */
const mostSeries = 4096;
const longestMessage = 1024;

interface Series {
  readonly namespace: string;
  readonly name: string;
  readonly count: number;
}

/**
 * Publishes core/v1 Events as in Karpenter (events/repeats, events/nominations-limited): the same reason and values
 * once in two minutes, `Nominated` at most five per second. Later repeats increase the count of the first Event, as in
 * client-go. Publishing never throws and never blocks; `idle` resolves when nothing is waiting, for an orderly
 * shutdown.
 */
export function createEventRecorder(options: EventRecorderOptions): EventRecorder & { idle(): Promise<void> } {
  const clock = options.clock ?? limiterClock;
  const admitted = createDedupe(clock);
  const allowed = createBuckets(options.rates ?? defaultRates, clock);
  const send = createSender(options, clock);
  let waiting = 0;
  let last = Promise.resolve();
  return {
    publish: (event) => {
      if (!admitted(event) || !allowed(event.reason) || waiting >= longestQueue) return;
      waiting++;
      const at = clock.now();
      last = last
        .then(() => send(event, at))
        .catch((error: unknown) => options.onFailure?.(event, error as Error))
        .finally(() => waiting--);
    },
    idle: () => last,
  };
}

/** Whether an equal event was published recently; if not, records it. */
function createDedupe(clock: LimiterClock): (event: EventToPublish) => boolean {
  const until = new Map<string, number>();
  return ({ reason, message, regarding, dedupeBy, dedupeMs = defaultDedupeMs }) => {
    const now = clock.now();
    const { kind, namespace = '', name, uid = '' } = regarding;
    const key = [reason, ...(dedupeBy ?? [kind, namespace, name, uid, message])].join('\0');
    const restMs = (until.get(key) ?? -Infinity) - now;
    // A longer rest is of a clock that was set back.
    if (restMs > 0 && restMs <= dedupeMs) return false;
    // Expired entries are removed only when the map has grown, not on every event.
    if (until.size >= 10_000) for (const [old, end] of until) if (end <= now) until.delete(old);
    until.set(key, now + dedupeMs);
    return true;
  };
}

function createBuckets(
  rates: Readonly<Record<string, { readonly qps: number; readonly burst: number }>>,
  clock: LimiterClock,
): (reason: string) => boolean {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (reason) => {
    const rate = lookUp(rates, reason);
    if (rate === undefined) return true;
    const now = clock.now();
    const { tokens, at } = buckets.get(reason) ?? { tokens: rate.burst, at: now };
    const filled = Math.min(rate.burst, tokens + (Math.max(0, now - at) * rate.qps) / 1000);
    buckets.set(reason, { tokens: filled >= 1 ? filled - 1 : filled, at: now });
    return filled >= 1;
  };
}

function createSender(
  { client, component = 'karpenter', instance = '' }: EventRecorderOptions,
  clock: LimiterClock,
): (event: EventToPublish, at: number) => Promise<void> {
  const known = new Map<string, Series>();
  const remember = (key: string, series: Series): void => {
    known.delete(key);
    known.set(key, series);
    const [oldest] = known.keys();
    if (known.size > mostSeries && oldest !== undefined) known.delete(oldest);
  };
  let made = 0;
  const create = async (event: EventToPublish, at: number, key: string): Promise<void> => {
    const namespace = event.regarding.namespace ?? 'default';
    // At most the length of a name, and unique among all recorders that publish for this object.
    const suffix = hashText(`${component} ${instance} ${clock.now()} ${++made}`);
    const name = `${event.regarding.name.slice(0, longestName - 1 - suffix.length)}.${suffix}`;
    const object = eventObject(event, { time: timestamp(at), component, instance });
    const { outcome } = await client.create('Event', { ...object, metadata: { name, namespace } });
    if (outcome === 'exists') throw new DomainError('Conflict', `an event named ${name} exists`);
    remember(key, { namespace, name, count: 1 });
  };
  return async (event, at) => {
    const { kind, namespace = '', name, uid = '' } = event.regarding;
    const key = [kind, namespace, name, uid, event.type, event.reason, event.message].join('\0');
    const series = known.get(key);
    if (series === undefined) {
      await create(event, at, key);
      return;
    }
    const again = { ...series, count: series.count + 1 };
    const answer = await client.patch('Event', series, { count: again.count, lastTimestamp: timestamp(at) });
    if (answer.outcome === 'patched') remember(key, again);
    // The API server deletes events after an hour.
    else await create(event, at, key);
  };
}

function eventObject(
  { regarding, type, reason, message }: EventToPublish,
  { time, component, instance }: { readonly time: string; readonly component: string; readonly instance: string },
): Omit<KubernetesEvent, 'apiVersion' | 'kind' | 'metadata'> {
  return {
    involvedObject: { ...regarding },
    type,
    reason,
    message: message.slice(0, longestMessage),
    count: 1,
    firstTimestamp: time,
    lastTimestamp: time,
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}
