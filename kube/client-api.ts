import { dropNulls } from '../core/nulls.js';
import { DomainError, type FailureType } from '../core/failures.js';
import type { Answer, Call, Transport } from './client-transport.js';
import { objectKey, resources } from './kinds.js';
import type { LimiterClock, RateLimiter } from './limiter.js';
import type { Kind, Kinds, KubeClient, ListOptions, ObjectRef, WatchEvent } from './port.js';

/** The fields of a `Status` object, the error response of an API server. */
interface Status {
  readonly code?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason?: string; readonly field?: string; readonly message?: string }[];
    readonly retryAfterSeconds?: number;
  };
  readonly metadata?: { readonly continue?: string };
}

/**
 * Parses the Status of a response; any other response (a proxy's page, plain text of flow control) becomes the message.
 */
function statusOf(answer: Answer): Status {
  try {
    const parsed = JSON.parse(answer.text) as (Status & { readonly kind?: string }) | null;
    if (parsed?.kind === 'Status') return parsed;
  } catch {
    // Not JSON.
  }
  return { code: answer.status, message: answer.text.trim().slice(0, 300) };
}

const types: Readonly<Record<number, FailureType>> = {
  400: 'Invalid',
  401: 'Denied',
  403: 'Denied',
  404: 'NotFound',
  405: 'Invalid',
  409: 'Conflict',
  413: 'Invalid',
  415: 'Invalid',
  422: 'Invalid',
  429: 'Throttled',
};

/** The domain error for a refusal; every other code, including 5xx, is `Unavailable`. */
function refusal(what: string, code: number, status: Status, retryAfter?: number): DomainError {
  return new DomainError(types[code] ?? 'Unavailable', `${what}: ${status.message ?? `HTTP ${code}`}`, {
    status: code,
    reason: status.reason,
    causes: status.details?.causes,
    retryAfterSeconds: retryAfter ?? status.details?.retryAfterSeconds,
  });
}

/**
 * Whether a 404 means that the server does not serve the resource, for example while its CustomResourceDefinition is
 * replaced. A 404 for a missing object has the reason NotFound.
 */
function isUnserved({ code, status }: { readonly code: number; readonly status: Status }): boolean {
  return code === 404 && status.reason !== 'NotFound';
}

/** Whether PodDisruptionBudgets refused an eviction: one allows no disruption, or two select the pod. */
function isBlockedByBudget(code: number, status: Status): boolean {
  if (code === 429) return status.details?.causes?.some(({ reason }) => reason === 'DisruptionBudget') ?? false;
  // The API server has no other indication of it.
  return code === 500 && (status.message?.includes('more than one PodDisruptionBudget') ?? false);
}

interface ApiDeps {
  readonly transport: Transport;
  readonly limiter: RateLimiter;
  readonly clock: LimiterClock;
  /** 0 to 1; randomizes the end of watches. */
  readonly random: () => number;
  readonly pageSize: number;
}

const mergePatch = 'application/merge-patch+json';
const mostRetries = 3;
const longestRetryAfter = 10;

interface Accepted {
  readonly object: unknown;
  readonly date: number | undefined;
}

interface Refused {
  readonly code: number;
  readonly status: Status;
  readonly retryAfter: number | undefined;
}

/** Implements the port over HTTP. */
export function createApi(deps: ApiDeps): KubeClient {
  const requests = createRequests(deps);
  return { ...createReads(deps, requests), ...createWrites(requests), watch: createWatch(deps) };
}

interface Requests {
  /**
   * The object in the response, or the refusal. A call that the server asks to repeat later is repeated three times.
   */
  readonly call: (call: Call) => Promise<Accepted | Refused>;
}

function createRequests({ transport, limiter, clock }: ApiDeps): Requests {
  const once = async (call: Call): Promise<Answer> => {
    await limiter.take();
    return transport.exchange(call);
  };
  return {
    call: async (call) => {
      for (let attempt = 0; ; attempt++) {
        const answer = await once(call);
        if (answer.status >= 200 && answer.status < 300) {
          return { object: parsed(answer.text), date: answer.date };
        }
        const status = statusOf(answer);
        const wait = attempt < mostRetries ? waitFor(call, answer, status) : undefined;
        if (wait === undefined) return { code: answer.status, status, retryAfter: answer.retryAfter };
        await clock.sleep(wait * 1000, call.signal);
      }
    },
  };
}

/** Parses JSON and drops null fields, as for files. */
function parsed(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (text.includes('null')) dropNulls(value);
  return value;
}

/** Seconds to wait before the same call is repeated; undefined if the response is final. */
function waitFor({ method }: Call, { status: code, retryAfter }: Answer, status: Status): number | undefined {
  if (isBlockedByBudget(code, status)) return undefined;
  // A server whose cache lags behind responds with 504. After that only reads may be repeated.
  const again = code === 429 || (retryAfter !== undefined && (code === 503 || (code >= 500 && method === 'GET')));
  return again ? Math.min(retryAfter ?? 1, longestRetryAfter) : undefined;
}

/** Reads all pages once; undefined if the server expired the list's version meanwhile. */
async function readPages<K extends Kind>(
  { pageSize, call }: Pick<ApiDeps, 'pageSize'> & Pick<Requests, 'call'>,
  kind: K,
  options: ListOptions & { signal?: AbortSignal; versionOnly?: boolean },
  transform: (object: Kinds[K]) => Kinds[K],
): Promise<{ items: Kinds[K][]; resourceVersion: string } | undefined> {
  const { apiVersion } = resources[kind];
  const items: Kinds[K][] = [];
  let token: string | undefined;
  for (;;) {
    const limit = String(options.versionOnly === true ? 1 : pageSize);
    const path = pathOf(kind, options, { ...selectors(options), limit, continue: token });
    const answer = await call({ method: 'GET', path, signal: options.signal });
    if (!('object' in answer)) {
      if (answer.code === 410 && token !== undefined) return undefined;
      throw refused(`list ${kind}`, answer);
    }
    const page = answer.object as { items?: Kinds[K][]; metadata: { resourceVersion: string; continue?: string } };
    // Lists of built-in kinds have the kind only on the list.
    for (const item of page.items ?? []) items.push(transform(Object.assign(item, { apiVersion, kind })));
    if (options.versionOnly === true || (page.metadata.continue ?? '') === '') {
      return { items, resourceVersion: page.metadata.resourceVersion };
    }
    token = page.metadata.continue;
  }
}

function createReads(
  deps: ApiDeps,
  { call }: Requests,
): Pick<KubeClient, 'get' | 'list' | 'listForWatch' | 'serverVersion' | 'serverTime'> {
  const get = async <K extends Kind>(kind: K, ref: ObjectRef): Promise<Kinds[K] | undefined> => {
    const answer = await call({ method: 'GET', path: pathOf(kind, ref) });
    if ('object' in answer) return answer.object as Kinds[K];
    if (isGone(answer)) return undefined;
    throw refusedOfObject(`get ${kind} ${objectKey(ref)}`, answer);
  };

  const listForWatch: KubeClient['listForWatch'] = async (kind, options = {}) => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const list = await readPages(
        { pageSize: deps.pageSize, call },
        kind,
        options,
        options.transform ?? ((object) => object),
      );
      if (list !== undefined) return list;
    }
    throw new DomainError('Unavailable', `list ${kind}: its pages expired three times before they were read`);
  };

  const version = async (): Promise<Accepted> => {
    const answer = await call({ method: 'GET', path: '/version' });
    if (!('object' in answer)) throw refused('get the server version', answer);
    return answer;
  };

  return {
    get,
    listForWatch,
    list: async (kind, options) => (await listForWatch(kind, options)).items,
    serverVersion: async () => ((await version()).object as { gitVersion: string }).gitVersion,
    serverTime: async () => (await version()).date,
  };
}

const createWith =
  ({ call }: Requests): KubeClient['create'] =>
  async <K extends Kind>(kind: K, object: Parameters<KubeClient['create']>[1]) => {
    const { name, namespace } = object.metadata;
    const ref = { name: name ?? '', namespace };
    const what = `create ${kind} ${objectKey({ name: name ?? `${object.metadata.generateName ?? ''}*`, namespace })}`;
    const body = { ...object, apiVersion: resources[kind].apiVersion, kind };
    for (let attempt = 0; ; attempt++) {
      // The caller handles an existing name.
      const isRepeatable = name !== undefined;
      const answer = await call({ method: 'POST', path: pathOf(kind, { namespace }), body, isRepeatable });
      if ('object' in answer) return { outcome: 'created', object: answer.object as Kinds[K] };
      if (answer.code !== 409 || answer.status.reason !== 'AlreadyExists' || attempt >= 3)
        throw refusedOfObject(what, answer);
      // A generated name may clash; a given name may be freed between the two calls. Both are tried again.
      if (name === undefined) continue;
      const existing = await call({ method: 'GET', path: pathOf(kind, ref) });
      if ('object' in existing) return { outcome: 'exists', object: existing.object as Kinds[K] };
      if (!isGone(existing)) throw refusedOfObject(what, existing);
    }
  };

const evictWith =
  ({ call }: Requests): KubeClient['evict'] =>
  async ({ namespace, name, uid, gracePeriodSeconds }) => {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: deleteOptions({ uid, gracePeriodSeconds }),
    };
    const answer = await call({ method: 'POST', path: pathOf('Pod', { name, namespace }, {}, 'eviction'), body });
    if ('object' in answer) return { outcome: 'evicted' };
    if (isGone(answer) || answer.code === 409) return { outcome: 'gone' };
    if (isBlockedByBudget(answer.code, answer.status)) {
      return { outcome: 'blocked', message: answer.status.message ?? 'blocked by a PodDisruptionBudget' };
    }
    throw refusedOfObject(`evict Pod ${namespace}/${name}`, answer);
  };

function createWrites({ call }: Requests): Pick<KubeClient, 'create' | 'patch' | 'delete' | 'evict'> {
  const patch: KubeClient['patch'] = async <K extends Kind>(
    kind: K,
    ref: ObjectRef,
    body: object,
    options?: { subresource?: 'status' },
  ) => {
    const path = pathOf(kind, ref, {}, options?.subresource);
    const answer = await call({ method: 'PATCH', path, body, contentType: mergePatch });
    if ('object' in answer) return { outcome: 'patched', object: answer.object as Kinds[K] };
    if (isGone(answer)) return { outcome: 'gone' };
    if (answer.code === 409 || isOfAnotherUid(answer)) return { outcome: 'conflict' };
    throw refusedOfObject(`patch ${kind} ${objectKey(ref)}`, answer);
  };

  return {
    create: createWith({ call }),
    patch,
    delete: async (kind, ref, options = {}) => {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Background',
        ...deleteOptions(options),
      };
      const answer = await call({ method: 'DELETE', path: pathOf(kind, ref), body });
      if ('object' in answer) return 'deleted';
      // A conflict can only be due to the UID: another object has that name.
      if (isGone(answer) || (answer.code === 409 && options.uid !== undefined)) return 'gone';
      throw refusedOfObject(`delete ${kind} ${objectKey(ref)}`, answer);
    },
    evict: evictWith({ call }),
  };
}

function createWatch({ transport, limiter, random }: ApiDeps): KubeClient['watch'] {
  return async <K extends Kind>(
    kind: K,
    options: Parameters<KubeClient['watch']>[1],
    onEvent: (event: WatchEvent<Kinds[K]>) => void,
  ) => {
    await limiter.take();
    const path = pathOf(kind, options, {
      ...selectors(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      // Five to ten minutes, as in client-go: replicas move to new API servers at different times.
      timeoutSeconds: String(options.timeoutSeconds ?? 300 + Math.floor(random() * 300)),
    });
    const seen = { expired: false };
    const isShort = options.timeoutSeconds !== undefined;
    const call: Call = { method: 'GET', path, signal: options.signal, onOpen: options.onOpen, isShort };
    const answer = await transport.stream(call, (line) => {
      if (options.signal.aborted) return;
      const event = parsed(line) as { type: string; object: unknown };
      if (event.type !== 'ERROR') {
        onEvent(event as WatchEvent<Kinds[K]>);
        return;
      }
      const status = event.object as Status;
      if (status.code !== 410) throw refusal(`watch ${kind}`, status.code ?? 500, status);
      seen.expired = true;
    });
    if (seen.expired || answer?.status === 410) return 'expired';
    if (answer !== undefined) throw refusal(`watch ${kind}`, answer.status, statusOf(answer), answer.retryAfter);
    return 'ended';
  };
}

/** Some kinds check the UID of a patch as a precondition (409), others as an immutable field (422). */
function isOfAnotherUid({ code, status }: Refused): boolean {
  return code === 422 && (status.details?.causes?.some(({ field }) => field === 'metadata.uid') ?? false);
}

function deleteOptions(options: { uid?: string; gracePeriodSeconds?: number }): object {
  return {
    ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
  };
}

function selectors(options: ListOptions): Record<string, string | undefined> {
  return { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
}

/** Whether the response means that the object does not exist. */
function isGone(answer: Refused): boolean {
  return answer.code === 404 && !isUnserved(answer);
}

/**
 * The error of a call for one object. If the resource is not served, the object may exist, so the call may be retried.
 */
function refusedOfObject(what: string, answer: Refused): DomainError {
  if (!isUnserved(answer)) return refused(what, answer);
  const { message = 'HTTP 404' } = answer.status;
  return new DomainError('Unavailable', `${what}: the API server does not serve this resource: ${message}`, {
    status: answer.code,
  });
}

function refused(what: string, { code, status, retryAfter }: Refused): DomainError {
  return refusal(what, code, status, retryAfter);
}

/** The path of an object, or without a name of the collection; without a namespace, of all namespaces. */
function pathOf(
  kind: Kind,
  ref: { readonly name?: string; readonly namespace?: string },
  query: Readonly<Record<string, string | undefined>> = {},
  subresource?: string,
): string {
  const { apiVersion, plural, namespaced } = resources[kind];
  const parts = [apiVersion.includes('/') ? 'apis' : 'api', apiVersion];
  if (namespaced && ref.namespace !== undefined && ref.namespace !== '') {
    parts.push('namespaces', encodeURIComponent(ref.namespace));
  } else if (namespaced && ref.name !== undefined) {
    throw new DomainError('Invalid', `${kind} ${ref.name} is named without its namespace`);
  }
  parts.push(plural);
  if (ref.name !== undefined) parts.push(encodeURIComponent(ref.name));
  if (subresource !== undefined) parts.push(subresource);
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(key, value);
  return `/${parts.join('/')}${search.size === 0 ? '' : `?${search.toString()}`}`;
}
