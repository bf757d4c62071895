import type { Log } from '../../core/telemetry.js';
import type { WorkerTracing } from '../../worker/workers.js';
import type { ClientInterceptors } from '@temporalio/client';
import type { Settings } from '../settings.js';

/** How this process traces: what its client and its workers put around their calls. */
export interface Tracing {
  readonly client: ClientInterceptors;
  readonly worker: WorkerTracing;
  /** Sends what is still to be sent, for two seconds at most. */
  close(): Promise<void>;
}

/** Undefined where no collector is named: then nothing of OpenTelemetry is loaded but its API, which does nothing. */
export async function startTracing(
  settings: Pick<Settings, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'CLUSTER_NAME'>,
  process: { readonly role: string; readonly identity: string; readonly log: Log },
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, CLUSTER_NAME: cluster } = settings;
  if (endpoint === undefined) return undefined;
  const { exportTraces } = await import('./export.js');
  return exportTraces({ endpoint, cluster, ...process });
}
