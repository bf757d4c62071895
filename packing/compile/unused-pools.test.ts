import { describe, expect, test } from '@jest/globals';
import { instanceType, packingInput, pod, podsOf, pool } from '../../test/builders/packing-fixtures.js';
import { compile } from './compiled.js';
import { plan } from '../plan.js';
import type { PackingInput } from '../types.js';

/** So many offerings that NodePools are looked at before they are expanded. */
const types = Array.from({ length: 400 }, (_, n) => instanceType(`m${n + 1}`, { cpu: n + 1, price: (n + 1) / 10 }));
const teams = Array.from({ length: 300 }, (_, n) => `team-${n}`);

const taintOf = (value: string) => ({ key: 'team', value, effect: 'NoSchedule' as const });
const poolOf = (team: string, labelsOfNodes: Readonly<Record<string, string>> = {}) =>
  pool(team, { taints: [taintOf(team)], labels: { team, ...labelsOfNodes } });

const input = (pods: PackingInput['objects']['pods'], pools = [pool('open'), ...teams.map((team) => poolOf(team))]) =>
  packingInput({ pods, nodePools: pools }, { types });

const launched = (given: PackingInput) => plan(given).newNodeClaims;

describe('NodePools that no pod of the pass tolerates, beside very many offerings', () => {
  const ordinary = podsOf(5, 'p', { cpu: '900m' });

  test('change nothing in the plan, and are not compiled', () => {
    const alone = packingInput({ pods: ordinary, nodePools: [pool('open')] }, { types });
    expect(launched(input(ordinary))).toEqual(launched(alone));
    expect(compile(input(ordinary)).universe.rows).toHaveLength(compile(alone).universe.rows.length);
  });

  test('are compiled as soon as a pod tolerates them', () => {
    const mine = pod('mine', {
      cpu: '1',
      tolerations: [{ ...taintOf('team-7'), operator: 'Equal' }],
      nodeSelector: { team: 'team-7' },
    });
    expect(launched(input([...ordinary, mine])).find(({ pods }) => pods.includes('default/mine'))).toMatchObject({
      nodePool: 'team-7',
    });
  });

  test('still count as domains of a spread with nodeTaintsPolicy Ignore', () => {
    const rack = 'example.com/rack';
    const open = pool('open', { labels: { [rack]: 'a' } });
    const spread = (nodeTaintsPolicy: 'Honor' | 'Ignore') =>
      podsOf(3, 's', {
        cpu: '1',
        labels: { app: 's' },
        topologySpreadConstraints: [
          {
            topologyKey: rack,
            maxSkew: 1,
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 's' } },
            nodeTaintsPolicy,
          },
        ],
      });
    const pools = [open, ...teams.map((team) => poolOf(team, { [rack]: 'b' }))];
    expect(plan(input(spread('Honor'), pools)).unschedulable).toHaveLength(0);
    expect(plan(input(spread('Ignore'), pools)).unschedulable).toHaveLength(2);
  });

  describe("excluded by the pods' node selectors", () => {
    const chosen = teams.map((team) => pool(team, { labels: { team } }));
    const of = (team: string) => pod(`of-${team}`, { cpu: '1', nodeSelector: { team } });

    test('change nothing in the plan, and are not compiled', () => {
      const pods = [of('team-7'), of('team-8')];
      const alone = packingInput({ pods, nodePools: [chosen[7]!, chosen[8]!] }, { types });
      expect(launched(input(pods, chosen))).toEqual(launched(alone));
      expect(compile(input(pods, chosen)).universe.rows).toHaveLength(compile(alone).universe.rows.length);
    });

    test('are compiled as soon as a pod has no selector', () => {
      const rows = compile(input([of('team-7'), pod('any')], chosen)).universe.rows;
      expect(new Set(rows.map(({ profile }) => profile.pool.name)).size).toBe(teams.length);
    });

    test('are named with their requirements as blockers', () => {
      const { unschedulable } = plan(input([pod('large', { cpu: '1000', nodeSelector: { team: 'team-7' } })], chosen));
      const { blockers } = unschedulable[0]!;
      expect(blockers.find(({ nodePool }) => nodePool === 'team-8')).toMatchObject({
        reason: 'Requirements',
        subject: 'team',
        message: 'the NodePool asks for team In [team-8], and the pod for team In [team-7]',
      });
    });
  });

  test('are named as blockers of an unplaced pod', () => {
    const { unschedulable } = plan(input([pod('large', { cpu: '1000' })]));
    expect(unschedulable[0]!.blockers.map(({ nodePool }) => nodePool)).toContain('team-7');
  });
});
