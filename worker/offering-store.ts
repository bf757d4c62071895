import { messageOf } from '../core/error-message.js';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { OfferingStore } from '../activities/deps.js';
import type { Log } from '../core/telemetry.js';
import type { CloudProvider } from '../cloud/port.js';
import { workflowIds } from '../core/ids.js';
import { offeringKey } from '../core/unavailable-offerings.js';
import type { RefusedOffering, RememberedRefusal } from '../core/unavailable-offerings.js';
import type { OfferingsInput } from '../workflows/messages.js';
import {
  offeringsRefusedSignal,
  offeringSucceededSignal,
  startOptions,
  unavailableOfferingsQuery,
} from '../workflows/messages.js';

const freshMs = 3000;
const timeoutMs = 3000;
/** Bounds the size of a signal. */
const refusalsInSignal = 200;

/**
 * The worker's client of the workflow `offerings` (workflows/provisioning/offerings.ts): sends it refusals, and passes
 * refusals from other workers to the cloud provider of this process. Before `connect` it does nothing.
 */
export class TemporalOfferingStore implements OfferingStore {
  private client: Client | undefined;
  private readAt = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> | undefined;
  private remembered: ReadonlySet<string> = new Set();

  constructor(
    private readonly cluster: string,
    private readonly cloud: Pick<CloudProvider, 'markUnavailable'>,
    private readonly log: Log,
    private readonly now: () => number,
  ) {}

  connect(client: Client): void {
    this.client = client;
  }

  async refused(offerings: readonly RefusedOffering[]): Promise<void> {
    for (let from = 0; from < offerings.length; from += refusalsInSignal) {
      const refusals = offerings
        .slice(from, from + refusalsInSignal)
        .map(({ instanceType, zone, capacityType, reason, placement }) => ({
          ...{ instanceType, zone, capacityType, reason },
          ...(placement === undefined ? {} : { placement }),
        }));
      await this.attempt('recording offerings without capacity', async (client) => {
        const input: OfferingsInput = { cluster: this.cluster };
        await client.workflow.signalWithStart('offerings', {
          workflowId: workflowIds.offerings(this.cluster),
          ...startOptions('offerings', input, client.options),
          args: [input],
          signal: offeringsRefusedSignal,
          signalArgs: [refusals],
          staticSummary: 'offerings that are out of capacity',
        });
      });
    }
    this.readAt = Number.NEGATIVE_INFINITY;
  }

  /** Free for an offering without a recorded refusal. */
  async succeeded({ capacityType, instanceType, zone, placement }: Omit<RefusedOffering, 'reason'>): Promise<void> {
    const offering = { capacityType, instanceType, zone, ...(placement === undefined ? {} : { placement }) };
    if (!this.remembered.has(offeringKey(offering))) return;
    await this.attempt('recording an offering that has capacity again', (client) =>
      client.workflow.getHandle(workflowIds.offerings(this.cluster)).signal(offeringSucceededSignal, offering),
    );
  }

  refresh(): Promise<void> {
    const age = this.now() - this.readAt;
    // If the clock was set back, the age is unknown.
    if (age >= 0 && age < freshMs) return Promise.resolve();
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private async read(): Promise<void> {
    await this.attempt('asking which offerings are out of capacity', async (client) => {
      const refusals = await unavailableOfferings(client, this.cluster);
      this.remembered = new Set(refusals.map(offeringKey));
      this.cloud.markUnavailable(refusals.filter(({ until }) => until > this.now()));
    });
    this.readAt = this.now();
  }

  private async attempt(what: string, action: (client: Client) => Promise<void>): Promise<void> {
    if (this.client === undefined) return;
    try {
      await action(this.client);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) this.log.warn({ error: messageOf(error) }, `${what} failed`);
    }
  }
}

/** The recorded refusals of the cluster. Rejects if Temporal or all workers are unavailable. */
export async function unavailableOfferings(client: Client, cluster: string): Promise<readonly RememberedRefusal[]> {
  const handle = client.workflow.getHandle(workflowIds.offerings(cluster));
  try {
    return await client.connection.withDeadline(Date.now() + timeoutMs, () => handle.query(unavailableOfferingsQuery));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return [];
    throw error;
  }
}
