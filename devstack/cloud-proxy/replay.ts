import { AwsError, type Reply } from './aws-error.js';
import type { Called } from './called.js';
import { catalogueActions, type RecordedCall, type Recording } from './recording.js';

/** Answers calls as a recording has them. */
export class Replay {
  readonly #unused: Set<RecordedCall>;
  /** By service and action: what was given last. */
  readonly #last = new Map<string, RecordedCall>();

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
   * last again, for who waits for something asks on. Undefined for what is not recorded of any account. Throws `NotRecorded`.
   */
  answer(called: Called): Reply | undefined {
    if (catalogueActions.includes(called.action)) return undefined;
    const key = `${called.service} ${called.action}`;
    const found = this.#best(called) ?? this.#last.get(key);
    if (found === undefined)
      throw new AwsError('NotRecorded', `The recording of ${this.recording.recordedAt} has no ${key}.`);
    this.#unused.delete(found);
    this.#last.set(key, found);
    const { status, contentType, errorType, body } = found;
    return {
      status,
      headers: { 'content-type': contentType, ...(errorType !== undefined && { 'x-amzn-errortype': errorType }) },
      body,
    };
  }

  #best({ service, action, params }: Called): RecordedCall | undefined {
    const asked = leavesOf(params);
    let best: RecordedCall | undefined;
    let most = -1;
    for (const call of this.#unused) {
      if (call.service !== service || call.action !== action) continue;
      const shared = [...leavesOf(call.params)].filter((leaf) => asked.has(leaf)).length;
      if (shared > most) [best, most] = [call, shared];
    }
    return best;
  }
}

/** Every value with its path. */
function leavesOf(value: unknown, path = '', leaves = new Set<string>()): Set<string> {
  if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) leavesOf(inner, `${path}.${name}`, leaves);
  else leaves.add(`${path}=${String(value)}`);
  return leaves;
}
