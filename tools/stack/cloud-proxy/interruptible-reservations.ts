import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { answer } from './ec2-answers.js';
import type { Instance } from './instances.js';
import { newId } from './made-resources.js';
import { param, type Params } from './query.js';
import { reclaim } from './reclaim.js';
import { allocationElements } from './scripted-resources.js';
import type { CapacityReservation } from './settings.js';
import { element, type XmlElement } from './xml.js';

/** From the warning to the end of an instance, as EC2 has it. */
const noticeMs = 120_000;

/** CreateInterruptibleCapacityReservationAllocation: a new reservation, out of the free capacity of the source. */
export function createAllocation(cloud: Cloud, params: Params): Promise<XmlElement> {
  const source = sourceOf(cloud, params);
  const count = Number(param(params, 'InstanceCount'));
  if (count > source.available) {
    throw new AwsError('InvalidParameterValue', `The reservation has ${source.available} free instances.`);
  }
  const { instanceType, zone } = source;
  const made: CapacityReservation = {
    ...{ id: newId('cr'), instanceType, zone, total: count, available: count, interruptible: true },
  };
  source.available -= count;
  source.allocation = { id: made.id, count };
  cloud.configure({ capacityReservations: [...cloud.settings.capacityReservations, made] });
  return answered('CreateInterruptibleCapacityReservationAllocation', source);
}

/**
 * UpdateInterruptibleCapacityReservationAllocation: what the source takes back is free at once, or once the instances
 * in it, which are warned, have ended. With nothing left the interruptible reservation is cancelled.
 */
export function updateAllocation(cloud: Cloud, params: Params): Promise<XmlElement> {
  const source = sourceOf(cloud, params);
  const { allocation } = source;
  if (allocation === undefined) {
    const message = `The capacity reservation '${source.id}' doesn't have an active interruptible capacity allocation`;
    throw new AwsError('InvalidState', message);
  }
  allocation.count = Number(param(params, 'TargetInstanceCount'));
  const reservation = cloud.settings.capacityReservations.find(({ id }) => id === allocation.id);
  if (reservation !== undefined) void takeBack(cloud, source, reservation, allocation.count);
  return answered('UpdateInterruptibleCapacityReservationAllocation', source);
}

async function takeBack(
  cloud: Cloud,
  source: CapacityReservation,
  reservation: CapacityReservation,
  count: number,
): Promise<void> {
  const going = membersOf(cloud, reservation.id).slice(count);
  const freed = reservation.total - count;
  Object.assign(reservation, { total: count, available: 0 });
  for (const { id } of going) cloud.events.capacityReservationInterruption(id, reservation.id);
  if (going.length > 0) await new Promise((resolve) => setTimeout(resolve, noticeMs).unref());
  for (const { id } of going) await reclaim(cloud, id);
  source.available += freed;
  if (count === 0) reservation.state = 'cancelled';
}

const membersOf = (cloud: Cloud, id: string): Instance[] =>
  cloud.instances.all().filter(({ state, facts }) => state !== 'terminated' && facts.capacityReservationId === id);

function sourceOf(cloud: Cloud, params: Params): CapacityReservation {
  const id = param(params, 'CapacityReservationId') ?? '';
  const source = cloud.settings.capacityReservations.find((each) => each.id === id);
  if (source !== undefined) return source;
  throw new AwsError('InvalidCapacityReservationId.NotFound', `The capacity reservation ID '${id}' does not exist`);
}

const answered = (action: string, source: CapacityReservation): Promise<XmlElement> =>
  Promise.resolve(
    answer(action, [element('sourceCapacityReservationId', source.id), ...allocationElements(source.allocation)]),
  );
