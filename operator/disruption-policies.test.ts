import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { disruptionPolicies } from '../api/stowage/disruption-policy.js';
import { createActivityWorld, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { watchDisruptionPolicies } from './disruption-policies.js';

describe('status of a DisruptionPolicy', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    stop = watchDisruptionPolicies(operatorContext(world));
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const put = (name: string, spec: object, generation = 1): void => {
    const raw = { apiVersion: 'stowage.dev/v1alpha1', kind: 'DisruptionPolicy', metadata: { name, uid: name }, spec };
    const policy = disruptionPolicies.mustParse(raw);
    world.kube.put('DisruptionPolicy', { ...policy, metadata: { ...policy.metadata, generation } });
  };
  const status = (name: string) => world.deps.cache.get('DisruptionPolicy', { name })?.status;
  const becomes = async (name: string, holds: (valid: string, pools: string) => boolean): Promise<string> => {
    const read = () => status(name)?.conditions?.find(({ type }) => type === 'ValidationSucceeded');
    await world.deps.cache.until(
      () => holds(read()?.status ?? '', (status(name)?.nodePools ?? []).join()),
      AbortSignal.timeout(5000),
    );
    return read()?.message ?? '';
  };

  test('lists the NodePools to which it applies, as policies and pools change', async () => {
    put('light', {});
    world.kube.put('NodePool', nodePool('a'));
    world.kube.put('NodePool', { ...nodePool('b'), metadata: { name: 'b', uid: 'b', labels: { team: 'b' } } });
    await becomes('light', (valid, pools) => valid === 'True' && pools === 'a,b');

    put('heavy', { weight: 5, nodePoolSelector: { matchLabels: { team: 'b' } } });

    await becomes('light', (_valid, pools) => pools === 'a');
    await becomes('heavy', (_valid, pools) => pools === 'b');
    expect(world.events).toEqual([]);
  });

  test('is Ready False naming the invalid field, with an event for each new problem', async () => {
    const window = { name: 'w', schedule: '0 9 * * *', duration: '1h', timeZone: 'Mars/Olympus' };
    put('p', { maintenanceWindows: [window] });
    expect(await becomes('p', (valid) => valid === 'False')).toContain('spec.maintenanceWindows[0].timeZone');

    put('p', { maintenanceWindows: [{ ...window, timeZone: 'UTC' }] }, 2);
    expect(await becomes('p', (valid) => valid === 'True')).toBe('');
    expect(status('p')).toMatchObject({
      observedGeneration: 2,
      conditions: [{ type: 'ValidationSucceeded' }, { type: 'Ready', status: 'True', observedGeneration: 2 }],
    });

    expect(world.events).toMatchObject([
      {
        reason: 'DisruptionPolicyValidationFailed',
        type: 'Warning',
        regarding: { kind: 'DisruptionPolicy', name: 'p' },
        message: expect.stringContaining('spec.maintenanceWindows[0].timeZone'),
      },
    ]);
  });
});
