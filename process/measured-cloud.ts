import type { Metrics } from '../core/telemetry.js';
import { labels } from '../api/labels.js';
import type { CloudProvider, LaunchFailure, LaunchRefusal, LaunchedInstance } from '../cloud/port.js';
import { isDomainError } from '../core/failures.js';
import type { InstanceType } from '../core/instance-type.js';
import { pinnedValue } from '../core/launch-options.js';
import type { Result } from '../core/result.js';
import { hasOwn, lookUp } from '../core/own.js';

/** Karpenter's names for the methods, and for the controllers that call them. */
const measured: Readonly<Record<string, { readonly method: string; readonly controller: string }>> = {
  launch: { method: 'Create', controller: 'nodeclaim.lifecycle' },
  terminate: { method: 'Delete', controller: 'nodeclaim.lifecycle' },
  get: { method: 'Get', controller: 'nodeclaim.lifecycle' },
  list: { method: 'List', controller: 'nodeclaim.garbagecollection' },
  instanceTypes: { method: 'GetInstanceTypes', controller: 'provisioner' },
  drift: { method: 'IsDrifted', controller: 'nodeclaim.disruption' },
};

type Method = (...args: unknown[]) => Promise<unknown>;

/** The same provider, with metrics for duration and failures of its calls (metrics/cloud-calls). */
export function measuredCloud(
  cloud: CloudProvider,
  metrics: Pick<Metrics, 'count' | 'observe'>,
  now: () => number,
): CloudProvider {
  const counts = new FailureCounts(metrics);
  const wrapped = new Map<string, unknown>();
  const wrap = (name: string, method: Method): Method => {
    const called = { ...lookUp(measured, name)!, provider: cloud.name };
    return async (...args) => {
      const started = now();
      try {
        const answer = await method.apply(cloud, args);
        const refused = counts.note(name, answer);
        if (refused !== undefined) metrics.count('cloudprovider_errors_total', { ...called, error: refused });
        return answer;
      } catch (error) {
        metrics.count('cloudprovider_errors_total', { ...called, error: kindOf(error) });
        counts.failed(name, args, error);
        throw error;
      } finally {
        metrics.observe('cloudprovider_duration_seconds', called, (now() - started) / 1000);
      }
    };
  };
  return new Proxy(cloud, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || typeof key !== 'string') return value;
      let method = wrapped.get(key);
      if (method === undefined) {
        method = hasOwn(measured, key) ? wrap(key, value as Method) : (value as Method).bind(target);
        wrapped.set(key, method);
      }
      return method;
    },
  });
}

/** Counts refused offerings and failed terminations. Gets the zone ids from the last catalogue. */
class FailureCounts {
  private catalogue: readonly InstanceType[] = [];

  constructor(private readonly metrics: Pick<Metrics, 'count'>) {}

  /** Records refusals in a result; returns their kind. */
  note(name: string, answer: unknown): string | undefined {
    if (name === 'instanceTypes') this.catalogue = answer as readonly InstanceType[];
    if (name !== 'launch') return undefined;
    const result = answer as Result<LaunchedInstance, LaunchRefusal>;
    const { failures, unavailable } = result.ok ? result.value : result.error;
    this.refused(failures ?? unavailable.map((offering) => ({ ...offering, count: 1 })));
    return result.ok ? undefined : `${result.error.kind}Error`;
  }

  failed(name: string, [providerId]: readonly unknown[], error: unknown): void {
    if (name === 'launch') this.refused(failuresIn(error));
    if (name !== 'terminate') return;
    const zone = String(providerId).split('/').at(-2) ?? '';
    this.metrics.count('cloudprovider_instance_termination_failures_total', { zone, zone_id: this.zoneId(zone) });
  }

  private refused(failures: readonly LaunchFailure[]): void {
    for (const { zone, capacityType, reason, count } of failures) {
      const own = { zone, zone_id: this.zoneId(zone), capacity_type: capacityType, reason };
      this.metrics.count('cloudprovider_instance_launch_failures_total', own, count);
    }
  }

  private zoneId(zone: string): string {
    for (const { offerings } of this.catalogue) {
      const here = offerings.find(({ requirements }) => pinnedValue(requirements, labels.zone) === zone);
      if (here !== undefined) return pinnedValue(here.requirements, labels.zoneId) ?? '';
    }
    return '';
  }
}

function failuresIn(error: unknown): readonly LaunchFailure[] {
  const failures = isDomainError(error) ? error.details['failures'] : undefined;
  return Array.isArray(failures) ? (failures as readonly LaunchFailure[]) : [];
}

function kindOf(error: unknown): string {
  if (isDomainError(error)) return error.type;
  return error instanceof Error ? error.name : 'Error';
}
