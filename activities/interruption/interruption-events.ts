import type { EventToPublish } from '../../kube/port.js';
import { lookUp } from '../../core/own.js';

type Event = Omit<EventToPublish, 'regarding'>;

const notices: Readonly<Record<string, Event>> = {
  spot_interrupted: { type: 'Warning', reason: 'SpotInterrupted', message: 'Spot interruption warning was triggered' },
  rebalance_recommendation: {
    type: 'Normal',
    reason: 'SpotRebalanceRecommendation',
    message: 'Spot rebalance recommendation was triggered',
  },
  instance_stopped: { type: 'Warning', reason: 'InstanceStopping', message: 'Instance is stopping' },
  instance_terminated: { type: 'Warning', reason: 'InstanceTerminating', message: 'Instance is terminating' },
  capacity_reservation_interrupted: {
    type: 'Warning',
    reason: 'CapacityReservationInstanceInterrupted',
    message: 'Capacity reservation interruption warning was triggered',
  },
};

const unhealthy: Event = {
  type: 'Warning',
  reason: 'InstanceUnhealthy',
  message: 'An unhealthy warning was triggered',
};

/** The events of an interruption, as Karpenter writes them (interruption/events). */
export function interruptionEvents(kind: string, claim: string, node: string | undefined): readonly Event[] {
  const event = lookUp(notices, kind) ?? unhealthy;
  const where = node === undefined ? `NodeClaim ${claim}` : `Node ${node}`;
  const first = { ...event, message: `${where} event: ${event.message}` };
  if (kind === 'rebalance_recommendation') return [first];
  return [
    first,
    {
      type: 'Warning',
      reason: 'TerminatingOnInterruption',
      message: 'Interruption triggered termination for the node',
    },
  ];
}
