import { condition, getExternalWorkflowHandle } from '@temporalio/workflow';
import { workflowIds } from '../../core/ids.js';
import { UnavailableOfferings } from '../../core/unavailable-offerings.js';
import type { RememberedRefusal } from '../../core/unavailable-offerings.js';
import { workflowNow } from '../clock.js';
import type { OfferingsInput } from '../messages.js';
import {
  offeringsRefusedSignal,
  offeringSucceededSignal,
  podsPendingSignal,
  searchAttributes,
  unavailableOfferingsQuery,
} from '../messages.js';
import { notify } from '../calls/other-workflows.js';
import { runEntity } from '../entity/run-entity.js';
import { Progress } from '../progress.js';
import type { ChangedFacts } from '../progress.js';
import { setQueryHandler, setSignalHandler } from '../handlers.js';

/**
 * Bounds the state that continue-as-new carries to less than a megabyte; Temporal accepts two. The largest regions have
 * about as many offerings. Of more offerings, those that become available soonest are forgotten.
 */
const mostCarried = 5000;

/**
 * Remembers offerings without capacity for all workers and over restarts (launch/unavailable-offerings). A timer makes
 * each available again; each further refusal doubles its time. The workflow ends when no offering is left, and the next
 * refusal starts it again.
 */
export async function offerings(input: OfferingsInput): Promise<void> {
  const known = new UnavailableOfferings(workflowNow, input.carried);
  let isChanged = false;
  setSignalHandler(offeringsRefusedSignal, (refused) => {
    known.add(refused);
    isChanged = true;
  });
  setSignalHandler(offeringSucceededSignal, ({ capacityType, instanceType, zone, placement }) => {
    known.succeeded(capacityType, instanceType, zone, placement);
    isChanged = true;
  });
  setQueryHandler(unavailableOfferingsQuery, () => known.all());
  const progress = new Progress(
    'Offerings that are out of capacity',
    [{ key: searchAttributes.cluster, value: input.cluster }],
    {},
    'watching',
  );
  if (input.carried === undefined) await condition(() => isChanged);
  const round = async (): Promise<'none is left' | undefined> => {
    const next = known.nextChange();
    if (next === undefined) return 'none is left';
    const out = known.all().filter(({ until }) => until > workflowNow());
    progress.enter('watching', {
      waitingFor: out.length > 0 ? 'the next offering to be tried again' : 'an offering to become unavailable',
      until: next,
      facts: { 'out of capacity': out.length, ...first(out) },
    });
    isChanged = false;
    const hasNews = await condition(() => isChanged, Math.max(1, next - workflowNow()), {
      summary: 'the next offering to be tried again',
    });
    // The operator signals pods that wait for this offering only rarely while nothing changes in the cluster
    // (provisioning/signalled-again).
    if (!hasNews && known.all().filter(({ until }) => until > workflowNow()).length < out.length)
      await notify(() => getExternalWorkflowHandle(workflowIds.provision(input.cluster)).signal(podsPendingSignal));
    return undefined;
  };
  await runEntity<typeof offerings, 'none is left'>({
    round,
    next: () => [{ ...input, carried: known.all().slice(-mostCarried) }],
  });
  progress.enter('done', { facts: { 'out of capacity': 0 } });
}

function first([one]: readonly RememberedRefusal[]): ChangedFacts {
  if (one === undefined) return { 'next to be tried': undefined };
  const { capacityType, instanceType, zone, reason } = one;
  return { 'next to be tried': `${instanceType} ${capacityType} in ${zone} (${reason})` };
}
