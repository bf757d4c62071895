/** Workflows that run once per cluster, without end. */
export type Entity = 'provision' | 'disrupt';

export interface EntityActivities {
  /** Starts an entity workflow that does not run. */
  ensureEntity(input: { readonly entity: Entity }): Promise<void>;
}
