import { http } from '../http.js';
import type { InstanceView } from './control-server.js';
import type { Fault } from './faults.js';
import type { InstanceHealth, InstanceState } from './instances.js';
import type { Denial } from './permissions/authority.js';
import type { PoolRule } from './pools.js';
import type { Recording } from './recording.js';
import type { LoggedRequest } from './request-log.js';
import type { JoinerSettings, Settings, SettingsPatch } from './settings.js';
import type { SpotOverride } from './spot-market.js';

export type {
  Fault,
  InstanceHealth,
  InstanceState,
  InstanceView,
  JoinerSettings,
  LoggedRequest,
  PoolRule,
  Settings,
  SettingsPatch,
  SpotOverride,
};

/** The typed client of the cloud proxy's control API: what tests and `npm run stack -- chaos` script the cloud with. */
export class CloudProxyControl {
  /** `endpoint` is the stack's `awsEndpoint`. */
  constructor(private readonly endpoint: string) {}

  async #call<T>(method: string, path: string, input?: unknown): Promise<T> {
    const answer = await http(`${this.endpoint}/_stowage/${path}`, {
      method,
      ...(input !== undefined && { body: JSON.stringify(input) }),
    });
    const body = JSON.parse(answer.body.toString()) as T & { error?: string };
    if (answer.status !== 200)
      throw new Error(`The cloud proxy refused ${method} ${path}: ${body.error ?? answer.status}`);
    return body;
  }

  settings(): Promise<Settings> {
    return this.#call('GET', 'settings');
  }

  /** Changes settings; those not named stay. */
  configure(patch: SettingsPatch): Promise<Settings> {
    return this.#call('PATCH', 'settings', patch);
  }

  /** Forgets faults, pool rules, settings, scripted prices and the request log. Instances stay. */
  async reset(): Promise<void> {
    await this.#call('POST', 'reset');
  }

  /** The requests so far, oldest first. `after` is a sequence number. */
  requests(filter: { service?: string; action?: string; after?: number } = {}): Promise<LoggedRequest[]> {
    const query = new URLSearchParams(
      Object.entries(filter).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return this.#call('GET', `requests?${query.toString()}`);
  }

  /** What IAM allowed, by principal and action, and what it denied. */
  permissions(): Promise<{ denials: Denial[]; used: Record<string, Record<string, number>> }> {
    return this.#call('GET', 'permissions');
  }

  async clearRequests(): Promise<void> {
    await this.#call('DELETE', 'requests');
  }

  /** Scripts a fault; returns its id. Faults are consumed in the order in which they were added. */
  async addFault(fault: Fault): Promise<number> {
    return (await this.#call<{ id: number }>('POST', 'faults', fault)).id;
  }

  faults(): Promise<(Fault & { id: number; left: number })[]> {
    return this.#call('GET', 'faults');
  }

  async clearFaults(): Promise<void> {
    await this.#call('DELETE', 'faults');
  }

  /** Replaces the capacity rules; an empty list makes every pool unlimited again. */
  async setPools(rules: readonly PoolRule[]): Promise<void> {
    await this.#call('PUT', 'pools', rules);
  }

  pools(): Promise<PoolRule[]> {
    return this.#call('GET', 'pools');
  }

  /** The prices of a type, in dollars per hour. */
  prices(instanceType: string): Promise<{ onDemand: number; spot: Record<string, number> }> {
    return this.#call('GET', `prices?instanceType=${encodeURIComponent(instanceType)}`);
  }

  /** Sets spot prices or pool depths; returns how many prices changed. */
  async setSpot(override: SpotOverride): Promise<number> {
    return (await this.#call<{ changed: number }>('POST', 'prices', override)).changed;
  }

  /** The instances, those terminated in the last hour included. */
  async instances(): Promise<InstanceView[]> {
    return (await this.#call<{ instances: InstanceView[] }>('GET', 'instances')).instances;
  }

  /** From now on the instances that are terminated are not among them. */
  async forgetEnded(): Promise<void> {
    await this.#call('DELETE', 'instances');
  }

  /** Whether the instance still exists as a machine: pending, running, stopping or stopped. */
  async isRunning(id: string): Promise<boolean> {
    const instance = (await this.instances()).find((each) => each.id === id);
    return instance !== undefined && instance.state !== 'terminated' && instance.state !== 'shutting-down';
  }

  /** What changed since a revision; waits up to `waitMs` for a change. */
  watchInstances(
    since: number,
    waitMs: number,
  ): Promise<{ revision: number; settings: JoinerSettings; instances: InstanceView[] }> {
    return this.#call('GET', `instances?since=${since}&waitMs=${waitMs}`);
  }

  /**
   * Sends the two-minute spot warning; after `delayMs` (default two minutes) EC2 terminates the instance, unless
   * `terminate` is false.
   */
  async interruptSpot(id: string, options: { delayMs?: number; terminate?: boolean } = {}): Promise<void> {
    await this.#call('POST', 'instances/interrupt', { id, ...options });
  }

  /** Terminates instances at once, protected ones and those that EC2 does not describe yet too; others are passed over. */
  async reclaim(ids: readonly string[]): Promise<void> {
    await this.#call('POST', 'instances/reclaim', { ids });
  }

  async recommendRebalance(id: string): Promise<void> {
    await this.#call('POST', 'instances/rebalance', { id });
  }

  /** Forces an instance's state behind everyone's back, with its state-change event. */
  async setInstanceState(id: string, state: InstanceState): Promise<void> {
    await this.#call('POST', 'instances/state', { id, state });
  }

  /** Sets what DescribeInstanceStatus says. */
  async setHealth(id: string, health: InstanceHealth): Promise<void> {
    await this.#call('POST', 'instances/health', { id, ...health });
  }

  /** Puts any text on the interruption queue. */
  async sendToQueue(body: string): Promise<void> {
    await this.#call('POST', 'queue', { body });
  }

  /** Lets a recording of an account answer Stowage from now on; undefined ends that, as does `reset`. */
  async replay(recording: Recording | undefined): Promise<void> {
    await this.#call(recording === undefined ? 'DELETE' : 'PUT', 'replay', recording);
  }

  /** How often the HTTP proxy was asked for a tunnel to each host. */
  async tunnels(): Promise<Record<string, number>> {
    return (await this.#call<{ asked: Record<string, number> }>('GET', 'egress')).asked;
  }

  /** The node joiner's sign of life. */
  async reportJoiner(): Promise<void> {
    await this.#call('POST', 'joiner');
  }
}
