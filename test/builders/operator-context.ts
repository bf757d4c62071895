import type { OperatorContext } from '../../operator/context.js';
import type { Starter } from '../../operator/starter.js';
import type { ActivityWorld } from './activity-world.js';

/** What the operator's watches are given, with no workflow that has to run. `starter`: what the test observes of it. */
export const operatorContext = (
  { deps }: Pick<ActivityWorld, 'deps'>,
  starter: Partial<Starter> = {},
  more: Partial<OperatorContext> = {},
): OperatorContext => ({
  ...deps,
  starter: starter as Starter,
  window: { idleMs: 1000, maxMs: 10_000 },
  workflows: { claimChanged: () => Promise.resolve(undefined), poolChanged: () => Promise.resolve(undefined) },
  ...more,
});
