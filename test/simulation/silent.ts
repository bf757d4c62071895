import type { Log, Metrics } from '../../core/telemetry.js';

const nothing = (): void => undefined;

/** For tests and simulations that read neither logs nor metrics. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
export const silentMetrics: Metrics = { count: nothing, observe: nothing, set: nothing };
