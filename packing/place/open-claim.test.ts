import { describe, expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { packingInput, podsOf } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { openClaimsOf } from './open-claim.js';
import { podsIn, someOfMember, type Part } from './part.js';

const pods = podsOf(4, 'p');
const { targetOf, feasibility } = placingOf(packingInput({ pods }));
const { podClass, level } = targetOf(pods[0]!);
const member = { podClass, level, pods };
const part = (more: Partial<Part> = {}): Part => ({
  members: [member],
  together: false,
  profiles: [],
  pinnedKeys: [],
  demand: feasibility.demand(podClass),
  count: 4,
  ...more,
});
const names = (claims: ReturnType<typeof openClaimsOf>['claims']) =>
  claims.map(({ members }) => members.map((each) => each.pods.map(({ metadata }) => metadata.name).join()));

describe('planned claims', () => {
  test('get the pods of a part in order', () => {
    const bins = [
      { row: 7, items: [0], units: [1] },
      { row: 8, items: [0], units: [2] },
    ];
    const { claims, given } = openClaimsOf([part()], bins);
    expect(names(claims)).toEqual([['p-0'], ['p-1,p-2']]);
    expect(claims.map(({ row }) => row)).toEqual([7, 8]);
    expect([...given]).toEqual([3]);
  });

  test('get a bundle as it is, with the decided keys of all its parts', () => {
    const other = { ...member, pods: podsOf(1, 'q') };
    const parts = [
      part({ together: true, count: 1, members: [member, other], pinnedKeys: [labels.zone] }),
      part({ pinnedKeys: [labels.capacityType, labels.zone] }),
    ];
    const { claims, given } = openClaimsOf(parts, [{ row: 0, items: [0, 1], units: [1, 2] }]);
    expect(names(claims)).toEqual([['p-0,p-1,p-2,p-3', 'q-0', 'p-0,p-1']]);
    expect([...claims[0]!.pinnedKeys]).toEqual([labels.zone, labels.capacityType]);
    expect([...given]).toEqual([1, 2]);
  });
});

describe('members of a bundle', () => {
  test('split off some pods of one', () => {
    expect(someOfMember(member, 0, 4)).toBe(member);
    expect(someOfMember(member, 1, 3)).toEqual({ podClass, level, pods: [pods[1], pods[2]] });
    expect(someOfMember(member, 1, 4).pods).toEqual(pods.slice(1));
    expect(someOfMember(member, 0, 3).pods).toEqual(pods.slice(0, 3));
  });

  test('add up their pods', () => {
    expect(podsIn([])).toBe(0);
    expect(podsIn([member, someOfMember(member, 0, 3)])).toBe(7);
  });
});
