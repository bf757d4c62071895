import { AwsError, type Reply } from './aws-error.js';
import type { Called } from './called.js';
import { catalogueActions, type RecordedCall, type Recording } from './recording.js';

/** Answers calls as a recording has them. */
export class Replay {
  readonly #unused: Set<RecordedCall>;
  readonly #recorded: readonly Leaves[];

  constructor(private readonly recording: Recording) {
    this.#unused = new Set(recording.calls);
    this.#recorded = recording.calls.map((call) => ({ call, key: keyOf(call), leaves: leavesOf(call.params) }));
  }

  /** How many answers were not asked for yet, by action. */
  get left(): Record<string, number> {
    const left: Record<string, number> = {};
    for (const { action } of this.#unused) left[action] = (left[action] ?? 0) + 1;
    return left;
  }

  /**
   * The first answer to this very request that was not given yet. When all were given, the caller asks on: the next answer to a request that
   * asked for all of this and more, or the last of these again, never what was said of something else. A request that was not recorded gets the
   * answer to the one most like it. A dry run counts as a different action. Undefined for what is not recorded of any account. Throws `NotRecorded`.
   */
  answer(called: Called): Reply | undefined {
    if (catalogueActions.includes(called.action)) return undefined;
    const key = keyOf(called);
    const found = this.#find(called);
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

  #find(called: Called): RecordedCall | undefined {
    const asked = leavesOf(called.params);
    const same = this.#recorded.filter(({ key }) => key === keyOf(called));
    const unused = same.filter(({ call }) => this.#unused.has(call));
    const hasAll = ({ leaves }: Leaves): boolean => [...asked].every((leaf) => leaves.has(leaf));
    const isSame = (each: Leaves): boolean => each.leaves.size === asked.size && hasAll(each);
    const found = same.some(isSame)
      ? (unused.find(isSame) ?? unused.find(hasAll) ?? same.findLast(hasAll))
      : (mostLike(asked, unused) ?? mostLike(asked, same.toReversed()));
    return found?.call;
  }
}

interface Leaves {
  readonly call: RecordedCall;
  readonly key: string;
  readonly leaves: ReadonlySet<string>;
}

/** The first of those whose request has most in common with what is asked. */
function mostLike(asked: ReadonlySet<string>, calls: readonly Leaves[]): Leaves | undefined {
  const shared = ({ leaves }: Leaves): number => [...leaves].filter((leaf) => asked.has(leaf)).length;
  return calls.reduce<Leaves | undefined>(
    (best, each) => (best === undefined || shared(each) > shared(best) ? each : best),
    undefined,
  );
}

function keyOf({ service, action, params }: Pick<RecordedCall, 'service' | 'action' | 'params'>): string {
  const isDryRun = String((params as { readonly DryRun?: unknown } | undefined)?.DryRun) === 'true';
  return `${service} ${action}${isDryRun ? ' (dry run)' : ''}`;
}

/** Every value with its path; in which order a list has its values makes no other request. */
function leavesOf(value: unknown, path = '', leaves = new Set<string>()): Set<string> {
  if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value))
      leavesOf(inner, /^\d+$/.test(name) ? path : `${path}.${name}`, leaves);
  else leaves.add(`${path}=${String(value)}`);
  return leaves;
}
