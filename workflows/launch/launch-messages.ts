import { defineSignal } from '@temporalio/workflow';
import type { ClaimRef } from '../../core/refs.js';
import type { OutageAwareTimeoutState } from './outage-aware-timeout.js';

/* Messages of `launchNode`. workflows/messages.ts exports them. */

export interface LaunchNodeInput {
  readonly cluster: string;
  readonly claim: ClaimRef;
  readonly nodePool: string;
  /** Id of the workflow that gets `launchEndedSignal` when the launch has ended. */
  readonly notify?: string;
  /** More workflows to notify, where several wait for the same node. */
  readonly alsoNotify?: readonly string[];
  readonly reason?: string;
  /** The workflow that starts this has just created the NodeClaim. */
  readonly isFirst?: boolean;
  /** Default 5 and 15 minutes (launch/timeouts). */
  readonly launchTimeoutMs?: number;
  readonly registrationTimeoutMs?: number;
  /** Carried over by continue-as-new: when registration began. */
  readonly launchedAt?: number;
  /** Carried over by continue-as-new: how much of the registration timeout is used up. */
  readonly registering?: OutageAwareTimeoutState;
}

/** The input of a `launchNode`, and its summary and details in the Temporal UI. */
export interface LaunchStart {
  readonly input: LaunchNodeInput;
  readonly summary: string;
  readonly details?: string;
}

export type LaunchOutcome =
  | { readonly outcome: 'initialized'; readonly nodeName: string; readonly providerId: string }
  | {
      readonly outcome: 'deleted';
      readonly reason:
        'insufficient_capacity' | 'nodeclass_not_ready' | 'launch_timeout' | 'registration_timeout' | 'instance_ended';
      readonly message: string;
    }
  | { readonly outcome: 'superseded'; readonly providerId?: string };

/** The NodeClaim or its Node changed. */
export const nodeChangedSignal = defineSignal('nodeChanged');
/**
 * The NodeClaim is being deleted: stop. `replyTo`, if set, gets the signal `launchSettled`, which contains the provider
 * id if there is an instance.
 */
export const stopLaunchSignal = defineSignal<[{ readonly replyTo?: string }]>('stopLaunch');
export const launchStoppedSignal = defineSignal<[{ readonly providerId?: string }]>('launchStopped');
/** How a launch ended. */
export interface LaunchEnd {
  readonly uid: string;
  readonly outcome: LaunchOutcome['outcome'];
  /** Why the NodeClaim got no node; at most 300 characters. Absent from earlier builds. */
  readonly message?: string;
}

export const launchEndedSignal = defineSignal<[LaunchEnd]>('launchEnded');
