import { AwsError, type Reply } from './aws-error.js';
import type { Called } from './called.js';
import { catalogueActions, type RecordedCall, type Recording } from './recording.js';

/** Answers calls as a recording has them. */
export class Replay {
  readonly #unused: Set<RecordedCall>;

  constructor(private readonly recording: Recording) {
    this.#unused = new Set(recording.calls);
  }

  /** How many answers were not asked for yet, by action. */
  get left(): Record<string, number> {
    const left: Record<string, number> = {};
    for (const { action } of this.#unused) left[action] = (left[action] ?? 0) + 1;
    return left;
  }

  /**
   * Of the answers to this action that were not given yet, the first of those whose request is most like this one; when all were given, the
   * last recorded of those most like it again, for who waits for something asks on. A dry run is an action of its own. Undefined for what is not recorded of any account. Throws `NotRecorded`.
   */
  answer(called: Called): Reply | undefined {
    if (catalogueActions.includes(called.action)) return undefined;
    const key = keyOf(called);
    const found = mostLike(called, this.#unused) ?? mostLike(called, this.recording.calls.toReversed());
    if (found === undefined)
      throw new AwsError('NotRecorded', `The recording of ${this.recording.recordedAt} has no ${key}.`);
    this.#unused.delete(found);
    const { status, contentType, errorType, body } = found;
    return {
      status,
      headers: { 'content-type': contentType, ...(errorType !== undefined && { 'x-amzn-errortype': errorType }) },
      body,
    };
  }
}

/** The first of those whose request is most like this one. */
function mostLike(called: Called, calls: Iterable<RecordedCall>): RecordedCall | undefined {
  const asked = leavesOf(called.params);
  let best: RecordedCall | undefined;
  let most = -1;
  for (const call of calls) {
    if (keyOf(call) !== keyOf(called)) continue;
    const shared = [...leavesOf(call.params)].filter((leaf) => asked.has(leaf)).length;
    if (shared > most) [best, most] = [call, shared];
  }
  return best;
}

function keyOf({ service, action, params }: Pick<RecordedCall, 'service' | 'action' | 'params'>): string {
  const isDryRun = String((params as { readonly DryRun?: unknown } | undefined)?.DryRun) === 'true';
  return `${service} ${action}${isDryRun ? ' (dry run)' : ''}`;
}

/** Every value with its path. */
function leavesOf(value: unknown, path = '', leaves = new Set<string>()): Set<string> {
  if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) leavesOf(inner, `${path}.${name}`, leaves);
  else leaves.add(`${path}=${String(value)}`);
  return leaves;
}
