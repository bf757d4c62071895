import { parseDuration } from '../../core/durations.js';
import { longestName } from '../../core/names.js';
import { isSameScope, pauseScopeText, pauseStops } from '../../core/pause-scope.js';
import { disruptionReasons } from '../../disruption/command.js';
import { workflowNow } from '../clock.js';
import type { CandidateRef, Pause, PauseOrder, PauseScope, ResumeOrder } from '../messages.js';
import { mostPauses, refusals } from '../messages.js';
import { checkActor, checkTime, refuse } from './orders.js';
import { messageOf } from '../../core/error-message.js';

const kinds: readonly PauseScope['kind'][] = ['cluster', 'nodePool', 'reason', 'node'];
const reasons: readonly string[] = disruptionReasons;

/** The pauses in force: scope, who ordered them, why and until when. */
export class Pauses {
  private pauses: readonly Pause[];

  constructor(carried: readonly Pause[] = []) {
    this.pauses = carried;
  }

  get all(): readonly Pause[] {
    return this.pauses;
  }

  /** Adds a pause, in place of one of the same scope. */
  add(order: PauseOrder): void {
    const until =
      order.until ?? (order.ttl === undefined ? undefined : workflowNow() + parseDuration(order.ttl, 'ttl'));
    const { scope, reason, actor } = order;
    const pause: Pause = { scope, reason, actor, ...(until === undefined ? {} : { until }) };
    this.pauses = [...this.pauses.filter((other) => !isSameScope(other.scope, scope)), pause];
  }

  /** Takes over the pauses in Kubernetes. If there are too many, the widest scopes are kept. */
  replace(pauses: readonly Pause[]): void {
    const widest = [...pauses].sort((a, b) => kinds.indexOf(a.scope.kind) - kinds.indexOf(b.scope.kind));
    this.pauses = pauses.length <= mostPauses ? pauses : widest.slice(0, mostPauses);
  }

  remove(scope: PauseScope): void {
    this.pauses = this.pauses.filter((pause) => !isSameScope(pause.scope, scope));
  }

  /** Ends pauses whose time has passed; returns whether there were any. */
  expire(now: number): boolean {
    const left = this.pauses.filter(({ until }) => until === undefined || until > now);
    const some = left.length < this.pauses.length;
    this.pauses = left;
    return some;
  }

  /** When the next pause ends, milliseconds of the epoch; infinity if none has an end. */
  nextEnd(): number {
    return Math.min(...this.pauses.map(({ until }) => until ?? Number.POSITIVE_INFINITY));
  }

  /** The pause, if any, that stops a disruption of any of these nodes for this reason (invariants/pauses-hold). */
  holding(reason: string, nodes: readonly Pick<CandidateRef, 'node' | 'nodePool'>[]): Pause | undefined {
    return this.pauses.find(({ scope }) => nodes.some((node) => pauseStops(scope, reason, node)));
  }

  /** Throws a typed refusal for an order that makes no sense. `pools` are the NodePools, if they are known. */
  checkPause(order: PauseOrder, pools: ReadonlySet<string> | undefined): void {
    checkActor(order);
    if (typeof order.reason !== 'string' || order.reason.trim() === '')
      throw refuse(refusals.invalid, 'reason is missing: say why it is paused');
    checkScope(order.scope, pools);
    checkEnd(order);
    if (this.pauses.length >= mostPauses && !this.pauses.some(({ scope }) => isSameScope(scope, order.scope)))
      throw refuse(refusals.invalid, `there are ${mostPauses} pauses already: resume some, or pause a wider scope`);
  }

  checkResume(order: ResumeOrder): void {
    checkActor(order);
    checkScope(order.scope, undefined);
    if (this.pauses.some(({ scope }) => isSameScope(scope, order.scope))) return;
    const there = this.pauses.map(({ scope }) => pauseScopeText(scope)).join(', ');
    throw refuse(
      refusals.notPaused,
      `${pauseScopeText(order.scope)} is not paused; paused: ${there === '' ? 'nothing' : there}`,
    );
  }
}

function checkScope(scope: PauseScope | undefined, pools: ReadonlySet<string> | undefined): void {
  const { kind, name, reason } = scope ?? {};
  if (reason !== undefined && !reasons.includes(reason))
    throw refuse(refusals.unknownScope, `scope.reason is "${reason}": the reasons are ${reasons.join(', ')}`);
  if (kind === undefined || !kinds.includes(kind))
    throw refuse(refusals.unknownScope, `scope.kind is ${JSON.stringify(kind)}: allowed are ${kinds.join(', ')}`);
  if (kind === 'cluster') return;
  if (typeof name !== 'string' || name === '')
    throw refuse(refusals.unknownScope, `scope.name is missing: say which ${kind}`);
  if (name.length > longestName)
    throw refuse(refusals.unknownScope, `scope.name is ${name.length} characters long: no ${kind} has such a name`);
  if (kind === 'reason' && !reasons.includes(name))
    throw refuse(refusals.unknownScope, `scope.name is "${name}": the reasons are ${reasons.join(', ')}`);
  if (kind === 'nodePool' && pools !== undefined && !pools.has(name))
    throw refuse(refusals.unknownScope, `there is no NodePool "${name}"; known are ${[...pools].sort().join(', ')}`);
}

function checkEnd({ ttl, until }: PauseOrder): void {
  if (ttl !== undefined) {
    try {
      parseDuration(ttl, 'ttl');
    } catch (error) {
      throw refuse(refusals.invalid, messageOf(error));
    }
  }
  checkTime('until', until);
  if (until !== undefined && until <= workflowNow())
    throw refuse(
      refusals.invalid,
      `until is ${JSON.stringify(until)}: give a later time, in milliseconds of the epoch`,
    );
}
