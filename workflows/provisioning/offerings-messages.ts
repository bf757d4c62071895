import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { RefusedOffering, RememberedRefusal } from '../../core/unavailable-offerings.js';

/* Messages of `offerings`. workflows/messages.ts exports them. */

export interface OfferingsInput {
  readonly cluster: string;
  /** Carried over by continue-as-new. */
  readonly carried?: readonly RememberedRefusal[];
}

/** Offerings that refused a launch, at most 200 a signal. */
export const offeringsRefusedSignal = defineSignal<[readonly RefusedOffering[]]>('offeringsRefused');
/** An offering that refused before gave an instance. */
export const offeringSucceededSignal =
  defineSignal<[Pick<RefusedOffering, 'capacityType' | 'instanceType' | 'zone' | 'placement'>]>('offeringSucceeded');
/** Refusals that still matter; an offering whose `until` is past may be tried again. */
export const unavailableOfferingsQuery = defineQuery<readonly RememberedRefusal[]>('unavailableOfferings');
