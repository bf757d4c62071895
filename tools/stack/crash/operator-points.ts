import type { KubernetesWrite } from '../kubernetes-proxy/proxy.js';
import type { CallHooks } from '../temporal-proxy/proxy.js';
import type { Deaths } from './deaths.js';
import { kubernetesCall, temporalCall, type OperatorCall } from './operator-calls.js';

interface OperatorOptions {
  /** To which scenario a call belongs, by what it is about. */
  readonly scenarioOf: (about: string) => string;
  /** How many points there are of one call in a scenario, at most. */
  readonly most: number;
}

/** Where an operator dies: after each kind of write to Kubernetes and to Temporal took effect, while it has not heard of it. */
export class OperatorPoints implements CallHooks {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly deaths: Deaths,
    private readonly options: OperatorOptions,
  ) {}

  request(): boolean {
    return true;
  }

  response(method: string, message: Buffer): boolean {
    return !this.isLast(temporalCall(method, message));
  }

  /** Whether the operator hears what came of it. */
  written(write: KubernetesWrite): boolean {
    return !this.isLast(kubernetesCall(write));
  }

  private isLast(call: OperatorCall | undefined): boolean {
    if (call === undefined) return false;
    const scenario = this.options.scenarioOf(call.about);
    const key = `${scenario} ${call.name}`;
    const count = (this.counts.get(key) ?? 0) + 1;
    if (count > this.options.most) return false;
    if (!this.deaths.isLast({ scenario, of: 'operator', place: `after ${call.name} ${count}` })) return false;
    this.counts.set(key, count);
    return true;
  }
}
