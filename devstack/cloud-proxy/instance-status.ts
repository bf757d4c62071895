import type { Cloud } from './cloud.js';
import { paged } from './ec2-answers.js';
import { passes } from './filters.js';
import { stateElement, type Instance } from './instances.js';
import { filtersOf, param, strings, type Params } from './query.js';
import { element, textOf, type XmlElement } from './xml.js';

function check(name: string, status: string, since: string | undefined): XmlElement {
  const passed = status === 'ok' ? 'passed' : status === 'impaired' ? 'failed' : status;
  const detail = element('item', [
    element('name', 'reachability'),
    element('status', passed),
    since === undefined ? undefined : element('impairedSince', since),
  ]);
  return element(name, [element('status', status), element('details', [detail])]);
}

function statusItem(instance: Instance): XmlElement {
  const { health, item, state } = instance;
  const fallback = state === 'running' ? 'ok' : 'not-applicable';
  const events = (health.events ?? []).map((event, index) =>
    element('item', [
      element('instanceEventId', `instance-event-${instance.id.slice(2)}-${index}`),
      element('code', event.code),
      element('description', event.description ?? 'Scheduled by the test'),
      event.notBefore === undefined ? undefined : element('notBefore', event.notBefore),
    ]),
  );
  return element('item', [
    element('instanceId', instance.id),
    element('availabilityZone', textOf(item, 'placement', 'availabilityZone') ?? ''),
    ...(events.length > 0 ? [element('eventsSet', events)] : []),
    stateElement('instanceState', state),
    check('systemStatus', health.systemStatus ?? fallback, health.impairedSince),
    check('instanceStatus', health.instanceStatus ?? fallback, health.impairedSince),
  ]);
}

/** DescribeInstanceStatus: running instances alone unless IncludeAllInstances; health as scripted. */
export function describeInstanceStatus(cloud: Cloud, params: Params): Promise<XmlElement> {
  const all = param(params, 'IncludeAllInstances') === 'true';
  const filters = filtersOf(params);
  const items = cloud.instances
    .find(strings(params, 'InstanceId'), new Map())
    .filter(({ state }) => all || state === 'running')
    .filter((instance) => passes(filters, (name) => valuesOf(instance, name)))
    .map(statusItem);
  const bounds = { minimum: 5, maximum: 1000, standard: 1000 };
  return Promise.resolve(paged('DescribeInstanceStatus', 'instanceStatusSet', items, params, bounds));
}

function valuesOf({ health, item, state }: Instance, name: string): readonly string[] | undefined {
  switch (name) {
    case 'instance-state-name':
      return [state];
    case 'availability-zone':
      return [textOf(item, 'placement', 'availabilityZone') ?? ''];
    case 'instance-status.status':
      return [health.instanceStatus ?? 'ok'];
    case 'system-status.status':
      return [health.systemStatus ?? 'ok'];
    case 'instance-status.reachability':
      return [health.instanceStatus === 'impaired' ? 'failed' : 'passed'];
    case 'system-status.reachability':
      return [health.systemStatus === 'impaired' ? 'failed' : 'passed'];
    case 'event.code':
      return (health.events ?? []).map(({ code }) => code);
    default:
      return undefined;
  }
}
