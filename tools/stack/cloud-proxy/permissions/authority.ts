import { AwsError, type Protocol } from '../aws-error.js';
import type { Account, ServiceCall } from './account.js';
import { demandsOf } from './demands.js';
import { decide, type Demand, type Policy } from './policy.js';

/** Whose credentials a request may be signed with. */
export interface Principal {
  readonly arn: string;
  readonly policies: readonly Policy[];
}

/** A permission that was asked for and not given. */
export interface Denial {
  readonly principal: string;
  readonly action: string;
  readonly resource: string;
}

/** Why EC2 launches from no override of a fleet that may be created. */
export interface OverrideRefusal {
  readonly code: string;
  readonly message: string;
}

export const everything: Policy = { Statement: { Effect: 'Allow', Action: '*', Resource: '*' } };
const kept = 1_000;

/** IAM: decides every call by the policies of the principal that signed it. Signatures themselves are not checked. */
export class Authority {
  /** How often each action was allowed, by principal. */
  readonly used = new Map<string, Map<string, number>>();
  #denials: Denial[] = [];

  /** `principals` by access key. */
  constructor(
    private readonly principals: ReadonlyMap<string, Principal>,
    private readonly account: Account,
  ) {}

  get denials(): readonly Denial[] {
    return this.#denials;
  }

  clear(): void {
    this.used.clear();
    this.#denials = [];
  }

  /** Throws the service's error for a call that is not allowed; returns why a fleet's overrides all fail, if so. */
  async admit(call: ServiceCall, accessKey: string, protocol: Protocol): Promise<OverrideRefusal | undefined> {
    const principal = this.principals.get(accessKey);
    if (principal === undefined) {
      const code = protocol === 'ec2' ? 'AuthFailure' : 'InvalidClientTokenId';
      throw new AwsError(code, 'The security token included in the request is invalid.', 403);
    }
    const { call: demands, overrides = [] } = await demandsOf(call, this.account.in(call.region));
    const refused = this.#firstDenied(principal, demands);
    if (refused !== undefined) throw new AwsError(codeOf(protocol), refused, 403);
    const message = this.#firstDenied(principal, overrides);
    return message === undefined ? undefined : { code: 'UnauthorizedOperation', message };
  }

  #firstDenied(principal: Principal, demands: readonly Demand[]): string | undefined {
    for (const demand of demands) {
      const verdict = decide(principal.policies, demand);
      if (verdict.allowed) {
        this.#count(principal, demand);
        continue;
      }
      const { action, resource } = demand;
      this.#denials = [...this.#denials.slice(-kept), { principal: principal.arn, action, resource }];
      const why = verdict.explicit
        ? 'with an explicit deny in an identity-based policy'
        : `because no identity-based policy allows the ${action} action`;
      return (
        'You are not authorized to perform this operation. ' +
        `User: ${principal.arn} is not authorized to perform: ${action} on resource: ${resource} ${why}`
      );
    }
    return undefined;
  }

  #count({ arn }: Principal, { action }: Demand): void {
    const counts = this.used.get(arn) ?? new Map<string, number>();
    this.used.set(arn, counts.set(action, (counts.get(action) ?? 0) + 1));
  }
}

function codeOf(protocol: Protocol): string {
  if (protocol === 'ec2') return 'UnauthorizedOperation';
  return protocol === 'query' ? 'AccessDenied' : 'AccessDeniedException';
}

/** The access key that Stowage signs with. */
export const stowageKey = 'stowage';

/** The local cloud's credentials: Stowage runs under the policy that an installation has, people and tests may all. */
export function principalsOf(account: string, controller: Policy, partition = 'aws'): Map<string, Principal> {
  const role = (name: string): string => `arn:${partition}:sts::${account}:assumed-role/${name}/session`;
  const administrator = { arn: role('Administrator'), policies: [everything] };
  return new Map([
    [stowageKey, { arn: role('StowageController'), policies: [controller] }],
    ['joiner', { arn: role('NodeJoiner'), policies: [everything] }],
    ['local', administrator],
    ['test', administrator],
  ]);
}

/** A policy with its `${NAME}` variables filled in. Throws for one that has no value. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): Policy {
  const filled = text.replace(/\$\{([\w:]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new Error(`The policy has a variable \${${name}} without a value.`);
    return value;
  });
  return JSON.parse(filled) as Policy;
}
