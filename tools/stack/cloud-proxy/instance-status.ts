import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { paged } from './ec2-answers.js';
import { passes } from './filters.js';
import { stateElement, type Instance } from './instances.js';
import { filtersOf, param, strings, type Params } from './query.js';
import { element, textOf, type XmlElement } from './xml.js';

type Described = Pick<Instance, 'id' | 'state' | 'health' | 'item'>;

/** The two checks as the answer says them, and as filters find them. */
function checksOf({ health, state }: Described): { readonly instance: string; readonly system: string } {
  const fallback = state === 'running' ? 'ok' : 'not-applicable';
  return { instance: health.instanceStatus ?? fallback, system: health.systemStatus ?? fallback };
}

/** What of a check's details is said of reachability. */
const reachability = (status: string): string =>
  status === 'ok' ? 'passed' : status === 'impaired' ? 'failed' : status;

function check(name: string, status: string, since: string | undefined): XmlElement {
  const detail = element('item', [
    element('name', 'reachability'),
    element('status', reachability(status)),
    since === undefined ? undefined : element('impairedSince', since),
  ]);
  return element(name, [element('status', status), element('details', [detail])]);
}

function statusItem(instance: Described): XmlElement {
  const { health, item, state } = instance;
  const checks = checksOf(instance);
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
    check('systemStatus', checks.system, health.impairedSince),
    check('instanceStatus', checks.instance, health.impairedSince),
  ]);
}

/** DescribeInstanceStatus: running instances alone unless IncludeAllInstances; health as scripted. */
export const describeInstanceStatus = (cloud: Cloud, params: Params): Promise<XmlElement> =>
  Promise.resolve(statusAnswer(cloud.instances.find(strings(params, 'InstanceId'), new Map()), params));

/** What EC2 says of these instances. Throws its errors: ids and pages do not go together, and no other filters are known. */
export function statusAnswer(instances: readonly Described[], params: Params): XmlElement {
  const all = param(params, 'IncludeAllInstances') === 'true';
  const asked = filtersOf(params);
  refuseUnknown(asked);
  if (strings(params, 'InstanceId').length > 0 && param(params, 'MaxResults') !== undefined)
    throw new AwsError(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    );
  const items = instances
    .filter(({ state }) => all || state === 'running')
    .filter((instance) => passes(asked, (name) => filters.get(name)?.(instance)))
    .map(statusItem);
  const bounds = { minimum: 5, maximum: 1000, standard: 1000 };
  return paged('DescribeInstanceStatus', 'instanceStatusSet', items, params, bounds);
}

/** Of the documented ones those that the instances here have something for. */
const filters = new Map<string, (instance: Described) => readonly string[]>(
  Object.entries({
    'instance-state-name': ({ state }) => [state],
    'availability-zone': ({ item }) => [textOf(item, 'placement', 'availabilityZone') ?? ''],
    'instance-status.status': (instance) => [checksOf(instance).instance],
    'system-status.status': (instance) => [checksOf(instance).system],
    'instance-status.reachability': (instance) => [reachability(checksOf(instance).instance)],
    'system-status.reachability': (instance) => [reachability(checksOf(instance).system)],
    'event.code': ({ health }) => (health.events ?? []).map(({ code }) => code),
  } satisfies Record<string, (instance: Described) => readonly string[]>),
);

/** EC2 looks at the names whether or not there are instances. */
function refuseUnknown(asked: ReadonlyMap<string, readonly string[]>): void {
  const unknown = [...asked.keys()].find((name) => !filters.has(name));
  if (unknown !== undefined) throw new AwsError('InvalidParameterValue', `The filter '${unknown}' is invalid`);
}
