import { messageOf } from '../../core/error-message.js';
import { parseDuration } from '../../core/durations.js';
import { longestName } from '../../core/names.js';
import { disruptionReasons } from '../../disruption/command.js';
import { workflowNow } from '../clock.js';
import type { PauseOrder, PauseScope, ReconsiderOrder, ResumeOrder } from '../messages.js';
import { refusals } from '../messages.js';
import { checkActor, checkTime, refuse } from './orders.js';

/*
 * Checks of orders that `disrupt` writes to Kubernetes. Each throws a typed refusal for an order that is invalid
 * whatever objects the cluster has.
 */

const kinds: readonly PauseScope['kind'][] = ['cluster', 'nodePool', 'reason', 'node'];
const reasons: readonly string[] = disruptionReasons;

export function checkPause(order: PauseOrder): void {
  checkActor(order);
  if (typeof order.reason !== 'string' || order.reason.trim() === '')
    throw refuse(refusals.invalid, 'reason is missing: say why it is paused');
  checkScope(order.scope);
  checkEnd(order);
}

export function checkResume(order: ResumeOrder): void {
  checkActor(order);
  checkScope(order.scope);
}

export function checkReconsider(order: ReconsiderOrder): void {
  checkActor(order);
  const { node, nodePool, all } = order;
  const given = [node, nodePool, all === true ? true : undefined].filter((one) => one !== undefined);
  if (given.length !== 1)
    throw refuse(refusals.invalid, 'give one of node, nodePool and all, such as {"actor":"ann","node":"node-1"}');
  for (const [field, text] of Object.entries({ node, nodePool }))
    if (text !== undefined && (typeof text !== 'string' || text === ''))
      throw refuse(refusals.invalid, `${field} is ${JSON.stringify(text).slice(0, 60)}: give a name`);
}

function checkScope(scope: PauseScope | undefined): void {
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
