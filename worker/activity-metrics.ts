import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Metrics } from '../core/telemetry.js';

/**
 * Measures activities as controller-runtime measures reconciliations, so that the panels of Karpenter's dashboards show how long each
 * takes, how often it is done and how often it fails (metrics/reconciliations). `clock` gives milliseconds.
 */
export const measuring =
  (metrics: Metrics, clock: () => number = () => performance.now()): ActivityInterceptorsFactory =>
  ({ info: { activityType: controller } }) => ({
    inbound: {
      execute: async (input, next) => {
        const beganAt = clock();
        let result = 'error';
        try {
          const value = await next(input);
          result = 'success';
          return value;
        } finally {
          metrics.count('controller_runtime_reconcile_total', { controller, result });
          if (result === 'error') metrics.count('controller_runtime_reconcile_errors_total', { controller });
          metrics.observe('controller_runtime_reconcile_time_seconds', { controller }, (clock() - beganAt) / 1000);
        }
      },
    },
  });
