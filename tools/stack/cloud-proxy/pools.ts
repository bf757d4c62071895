export type CapacityKind = 'spot' | 'on-demand';

/**
 * What a capacity pool refuses or has left. Absent fields match anything; `*` matches any text within a field.
 * Without `capacity` the pool has none.
 */
export interface PoolRule {
  capacityType?: CapacityKind;
  instanceType?: string;
  zone?: string;
  /** Instances that can still be launched from all matching pools together. */
  capacity?: number;
  /** Default InsufficientInstanceCapacity. */
  code?: string;
  message?: string;
}

const wildcard = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);

/** Whether `value` matches a pattern with `*`; an absent pattern matches. */
export const matches = (pattern: string | undefined, value: string): boolean =>
  pattern === undefined || pattern === value || (pattern.includes('*') && wildcard(pattern).test(value));

export interface Pool {
  capacityType: CapacityKind;
  instanceType: string;
  zone: string;
}

/** The scripted capacity of the region's pools; a pool that no rule names is unlimited. */
export class CapacityPools {
  #rules: PoolRule[] = [];

  get rules(): readonly PoolRule[] {
    return this.#rules;
  }

  replace(rules: readonly PoolRule[]): void {
    this.#rules = rules.map((rule) => ({ ...rule }));
  }

  #ruleOf(pool: Pool): PoolRule | undefined {
    return this.#rules.find(
      (rule) =>
        matches(rule.capacityType, pool.capacityType) &&
        matches(rule.instanceType, pool.instanceType) &&
        matches(rule.zone, pool.zone),
    );
  }

  /** How many of `wanted` instances the pool gives, and the error for the rest. */
  take(pool: Pool, wanted: number): { granted: number; error?: { code: string; message: string } } {
    const rule = this.#ruleOf(pool);
    if (rule === undefined) return { granted: wanted };
    const granted = Math.min(wanted, rule.capacity ?? 0);
    if (rule.capacity !== undefined) rule.capacity -= granted;
    if (granted === wanted) return { granted };
    const code = rule.code ?? 'InsufficientInstanceCapacity';
    const { instanceType, zone } = pool;
    const message =
      rule.message ??
      `We currently do not have sufficient ${instanceType} capacity in the Availability Zone you requested (${zone}).`;
    return { granted, error: { code, message } };
  }
}
