import type { Log } from '../../core/telemetry.js';
import type { Settings } from '../settings.js';
import type { Tracing } from './export.js';

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
