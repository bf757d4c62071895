import { labels } from '../../../api/labels.js';
import { plans, type Expected } from '../plans.js';
import { about, differs, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { noneOf, oneOf, pod, poolOf, zone1, zone2, zone3, type PodOptions } from '../world.js';

const one = (options: PodOptions, expected: Expected, ...pools: ReturnType<typeof poolOf>[]): Check =>
  plans({ objects: [...pools, pod('p', options)] }, expected);
const invalid = oneOf(labels.zone, 'invalid');

export const preferenceCases: readonly ConformanceCase[] = about('preferences', [
  same(
    1128,
    'the last required term is never relaxed',
    one(
      { either: [[invalid]] },
      { left: ['p'] },
      poolOf(oneOf(labels.zone, zone1), oneOf(labels.instanceType, 'default')),
    ),
  ),
  differs(
    1144,
    'unsatisfiable terms of several required ones are relaxed',
    'scheduling/relaxation',
    'any term that can be met will do, the cheapest of them; under Karpenter it is the first',
    one(
      { either: [[invalid], [invalid], [oneOf(labels.zone, zone1)], [oneOf(labels.zone, zone2)]] },
      { nodes: 1, price: 0.4 },
    ),
  ),
  same(
    1168,
    'every preference is relaxed if needed',
    one({ likes: [invalid, oneOf(labels.instanceType, 'invalid')] }, { nodes: 1 }),
  ),
  same(
    1187,
    'a lighter preference is kept where the heaviest cannot be met',
    one(
      {
        likes: [
          { ...oneOf(labels.instanceType, 'no-such-type'), weight: 100 },
          { ...oneOf(labels.zone, zone2), weight: 50 },
          { ...oneOf(labels.zone, zone1), weight: 1 },
        ],
      },
      { by: { [labels.zone]: { [zone2]: 1 } } },
      poolOf(oneOf(labels.zone, zone1, zone2)),
    ),
  ),
  same(
    1214,
    'a preference that contradicts a requirement',
    one(
      { needs: [oneOf(labels.zone, zone3)], likes: [noneOf(labels.zone, zone3)] },
      { by: { [labels.zone]: { [zone3]: 1 } } },
    ),
  ),
  same(
    1235,
    'preferences that contradict each other',
    one({ likes: [invalid, noneOf(labels.zone, 'invalid')] }, { nodes: 1 }),
  ),
]);
