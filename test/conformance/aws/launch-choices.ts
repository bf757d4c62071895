import { awsLabels } from '../../../api/aws/labels.js';
import type { NodeSelectorRequirement } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { chooseLaunch, reservationKindOf, zoneOf } from '../../../cloud/aws/launch-choice.js';
import type { InstanceType, Offering } from '../../../core/instance-type.js';
import type { LaunchOption } from '../../../core/launch-options.js';
import { pinnedValue } from '../../../core/launch-options.js';
import { nodeClaim } from '../../builders/activity-world.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { noneOf, oneOf, op } from '../world.js';

type Need = NodeSelectorRequirement & { readonly minValues?: number };
type Kind = 'default' | 'interruptible' | 'capacity-block';
interface Sold {
  readonly zone?: string;
  readonly price?: number;
  readonly available?: boolean;
  readonly id?: string;
  readonly kind?: Kind;
  readonly room?: number;
}

const sold = (capacityType: string, { zone = 'zone-1a', price = 1, available = true, ...of }: Sold = {}): Offering => ({
  requirements: [
    oneOf(labels.capacityType, capacityType),
    oneOf(labels.zone, zone),
    ...(of.kind === undefined
      ? []
      : [
          oneOf(awsLabels.capacityReservationId, of.id ?? `cr-${zone}-${price}`),
          oneOf(awsLabels.capacityReservationType, of.kind === 'capacity-block' ? of.kind : 'default'),
          oneOf(awsLabels.capacityReservationInterruptible, String(of.kind === 'interruptible')),
        ]),
  ],
  ...{ price, available },
  ...(of.kind === undefined ? {} : { reservationCapacity: of.room ?? 1 }),
});
const reserved = (kind: Kind, of: Sold = {}): Offering => sold('reserved', { ...of, kind });
const onDemand = (of: Sold = {}): Offering => sold('on-demand', of);
const spot = (of: Sold = {}): Offering => sold('spot', of);
const type = (
  name: string,
  offerings: readonly Offering[],
  capacity: Readonly<Record<string, number>> = {},
): InstanceType => ({
  ...{ name, offerings, overhead: {} },
  requirements: [oneOf(labels.instanceType, name)],
  capacity: { cpu: 2000, ...capacity },
});

/** What is left of these types for a claim. */
function left(
  types: readonly InstanceType[],
  needs: readonly Need[] = [],
  requests: Readonly<Record<string, string>> = {},
) {
  const claim = nodeClaim('c', { spec: { requirements: needs, resources: { requests } } });
  const choice = chooseLaunch(types, claim);
  return choice.kind === 'none' ? [] : choice.stages.flatMap(({ options }) => options);
}
const names = (options: readonly LaunchOption[]): readonly string[] =>
  [...new Set(options.map((option) => option.type.name))].sort();
const keeps = (expected: readonly string[], ...asked: Parameters<typeof left>): Check =>
  gives(() => names(left(...asked)), expected);
const onlyReserved = oneOf(labels.capacityType, 'reserved');
const here = oneOf(labels.zone, 'zone-1a');
const core = { cpu: '1000m' };
const overlays = 'NodeOverlays change a type for all of its offerings; there are none that change an offering alone';

const compatibleCases: readonly ConformanceCase[] = about('types kept for a launch', [
  same(
    49,
    'those that the claim allows',
    keeps(
      ['compatible'],
      [type('compatible', [onDemand()]), type('incompatible', [onDemand({ zone: 'zone-1b' })])],
      [here],
      core,
    ),
  ),
  same(
    74,
    'those that hold its requests',
    keeps(['compatible'], [type('compatible', [onDemand()]), type('small', [onDemand()], { cpu: 500 })], [here], core),
  ),
  same(
    99,
    'those that are available',
    keeps(
      ['available'],
      [type('available', [onDemand()]), type('unavailable', [onDemand({ available: false })])],
      [here],
      core,
    ),
  ),
  notApplicable([162, 163, 164, 165, 167, 193], 'offerings with a capacity of their own', overlays),
]);

const kinds = ['default', 'interruptible', 'capacity-block'] as const;
/** The kind with the cheapest offering that the claim may use. */
const cheapestKind = (at: number, selected: Kind): ConformanceCase =>
  same(
    at,
    `the kind of the cheapest reservation: ${selected}`,
    gives(() => {
      const options = left(
        [
          type('cheap', [reserved(selected, { price: 5 })]),
          type('dear', [reserved(selected, { price: 10 })]),
          ...kinds
            .filter((kind) => kind !== selected)
            .map((kind) =>
              type(`other-${kind}`, [
                reserved(kind, { price: 10 }),
                reserved(kind, { price: 1, available: false }),
                reserved(kind, { price: 1, zone: 'zone-1b' }),
              ]),
            ),
        ],
        [onlyReserved, here],
      );
      return [[...new Set(options.map(reservationKindOf))], names(options)];
      // Of a block one option alone is asked for.
    }, [[selected], selected === 'capacity-block' ? ['cheap'] : ['cheap', 'dear']]),
  );
const tie = (at: number, selected: Kind, rejected: Kind): ConformanceCase =>
  same(
    at,
    `of equal prices ${selected} before ${rejected}`,
    keeps(
      ['a'],
      [type('a', [reserved(selected, { price: 5 })]), type('b', [reserved(rejected, { price: 5 })])],
      [onlyReserved],
    ),
  );
const ofOneKind = (at: number, selected: Kind): ConformanceCase =>
  same(
    at,
    `no offering of another kind: ${selected}`,
    gives(
      () => [
        ...new Set(
          left(
            [
              type('pin', [reserved(selected, { price: 1 })]),
              type(
                'mixed',
                kinds.map((kind) => reserved(kind, { price: 5, id: kind })),
              ),
            ],
            [onlyReserved],
          ).map(reservationKindOf),
        ),
      ],
      [selected],
    ),
  );

const kindCases: readonly ConformanceCase[] = about('reservation kind of a launch', [
  cheapestKind(285, 'default'),
  cheapestKind(286, 'capacity-block'),
  cheapestKind(287, 'interruptible'),
  tie(310, 'default', 'capacity-block'),
  tie(311, 'capacity-block', 'interruptible'),
  tie(312, 'default', 'interruptible'),
  ofOneKind(356, 'default'),
  ofOneKind(357, 'interruptible'),
  ofOneKind(358, 'capacity-block'),
  same(
    360,
    'does not matter without reserved in the claim',
    keeps(
      ['a', 'b'],
      [type('a', [onDemand(), reserved('default')]), type('b', [onDemand(), reserved('capacity-block')])],
      [noneOf(labels.capacityType, 'reserved')],
    ),
  ),
]);

const idsOf = (options: readonly LaunchOption[]): readonly (string | undefined)[] =>
  options.map(({ offering }) => pinnedValue(offering.requirements, awsLabels.capacityReservationId));
const block = (of: Sold): Offering => reserved('capacity-block', of);
const picks = (at: number, title: string, offerings: readonly Offering[], expected: string): ConformanceCase =>
  same(
    at,
    title,
    gives(() => idsOf(left([type('a', offerings)], [onlyReserved, noneOf(labels.zone, 'forbidden')])), [expected]),
  );

const blockCases: readonly ConformanceCase[] = about('capacity blocks of a launch', [
  same(
    379,
    'the type with the cheapest block is kept',
    gives(() => {
      const options = left(
        [
          type('cheap', [block({ price: 1, id: 'a' }), block({ price: 10, id: 'b' })]),
          type('dear', [block({ price: 2, id: 'c' }), block({ price: 10, id: 'd' })]),
        ],
        [onlyReserved],
      );
      return [names(options), options.length];
    }, [['cheap'], 1]),
  ),
  picks(406, 'the cheapest block', [block({ price: 1, id: 'cheapest' }), block({ price: 2, id: 'dear' })], 'cheapest'),
  picks(
    412,
    'an available block is picked',
    [
      block({ price: 1, available: false, id: 'full' }),
      block({ price: 1.5, id: 'open' }),
      block({ price: 2, id: 'dear' }),
    ],
    'open',
  ),
  picks(
    419,
    'a block that the claim allows is picked',
    [
      block({ price: 1, zone: 'forbidden', id: 'away' }),
      block({ price: 1.5, id: 'here' }),
      block({ price: 2, id: 'dear' }),
    ],
    'here',
  ),
  same(
    [],
    'other reservations keep several types',
    keeps(
      ['a', 'b'],
      [type('a', [reserved('default', { price: 1 })]), type('b', [reserved('default', { price: 2 })])],
      [onlyReserved],
    ),
  ),
  same(
    451,
    'do not matter without reserved in the claim',
    keeps(
      ['a', 'b'],
      [type('a', [block({ price: 1 }), onDemand()]), type('b', [block({ price: 2 }), onDemand({ price: 2 })])],
      [noneOf(labels.capacityType, 'reserved')],
    ),
  ),
]);

const both = [onDemand(), spot({ price: 0.5 })];
const reservedCases: readonly ConformanceCase[] = about('reservations of a launch', [
  same(
    480,
    'everything is kept where no reservation has capacity',
    keeps(['a', 'b'], [type('a', both), type('b', [...both, reserved('default', { available: false })])]),
  ),
  same(
    495,
    'the reservation with most capacity of a type and zone is kept',
    gives(
      () =>
        idsOf(
          left(
            [
              type('none', both),
              type('a', [
                ...both,
                reserved('default', { zone: '1', id: 'a1', room: 5 }),
                reserved('default', { zone: '2', id: 'a2', room: 6 }),
                reserved('default', { zone: '2', id: 'less', room: 5 }),
              ]),
              type('b', [
                ...both,
                reserved('default', { zone: '1', id: 'b1', room: 1 }),
                reserved('default', { zone: '1', id: 'full', room: 2, available: false }),
              ]),
            ],
            [onlyReserved],
          ),
        )
          .map(String)
          .sort(),
      ['a1', 'a2', 'b1'],
    ),
  ),
  same(
    528,
    'none is used without reserved in the claim',
    gives(() => {
      const types = [type('a', both), type('b', [...both, reserved('default')])];
      const options = left(types, [noneOf(labels.capacityType, 'reserved')]);
      return [names(options), options.length];
    }, [['a', 'b'], 4]),
  ),
]);

const exotic = [
  'nvidia.com/gpu',
  'amd.com/gpu',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
  'habana.ai/gaudi',
];
const plain = ['cpu', 'memory', 'ephemeral-storage', 'pods', 'vpc.amazonaws.com/pod-eni', 'vpc.amazonaws.com/efa'];
const gpu = { [exotic[0]!]: 1 };
const exoticCases: readonly ConformanceCase[] = about('metal and accelerated types in a launch', [
  same(
    [],
    'accelerated types are dropped',
    gives(
      () =>
        exotic.map((name) => names(left([type('plain', [onDemand()]), type('exotic', [onDemand()], { [name]: 1 })]))),
      exotic.map(() => ['plain']),
    ),
  ),
  same(
    [],
    'types with other resources are kept',
    gives(
      () =>
        plain.map((name) =>
          names(left([type('plain', [onDemand()], { [name]: 1 }), type('exotic', [onDemand()], gpu)])),
        ),
      plain.map(() => ['plain']),
    ),
  ),
  same(
    587,
    'bare metal is dropped',
    keeps(['plain'], [type('plain', [onDemand()]), type('plain.metal', [onDemand()])]),
  ),
  same(
    599,
    'both are kept where nothing else fits',
    keeps(['exotic', 'plain.metal'], [type('exotic', [onDemand()], gpu), type('plain.metal', [onDemand()])]),
  ),
  same(
    611,
    'both are kept where minValues requires them',
    keeps(
      ['exotic', 'plain'],
      [type('plain', [onDemand()]), type('exotic', [onDemand()], gpu)],
      [{ ...op(labels.instanceType, 'Exists'), minValues: 2 }],
    ),
  ),
]);

const anyType = op(labels.capacityType, 'Exists');
const dear = type('dear', [spot({ price: 10 }), spot({ price: 15, zone: 'zone-1b' })]);
const cheap = type('od', [onDemand({ price: 5 })]);
const spotCases: readonly ConformanceCase[] = about('spot offerings of a launch', [
  same(
    627,
    'spot above the cheapest on-demand price is dropped',
    gives(
      () =>
        left(
          [
            type('od', [onDemand({ price: 5 }), onDemand({ price: 10, zone: 'zone-1b' })]),
            type('cheap', [spot({ price: 1 }), spot({ price: 2, zone: 'zone-1b' })]),
            type('mixed', [spot({ price: 1 }), spot({ price: 10, zone: 'zone-1b' })]),
          ],
          [anyType],
        )
          .map((option) => `${option.type.name}/${zoneOf(option)}`)
          .sort(),
      ['cheap/zone-1a', 'cheap/zone-1b', 'mixed/zone-1a', 'od/zone-1a', 'od/zone-1b'],
    ),
  ),
  same(667, 'a type with only such spot is dropped', keeps(['od'], [cheap, dear], [anyType])),
  same(695, 'all spot is kept where there is no on-demand', keeps(['dear'], [dear], [anyType])),
  same(
    718,
    'all spot is kept where on-demand is not requested',
    keeps(['dear'], [cheap, dear], [oneOf(labels.capacityType, 'spot')]),
  ),
  same(
    742,
    'all spot is kept where minValues requires it',
    gives(
      () =>
        names(
          left(
            [type('od', [onDemand({ price: 5 }), spot({ price: 9 })]), type('dear', [spot({ price: 10 })])],
            [anyType, { ...op(labels.instanceType, 'Exists'), minValues: 2 }],
          ),
        ),
      ['dear', 'od'],
    ),
  ),
]);

/** pkg/providers/instance/filter/filter_test.go */
export const launchChoiceCases: readonly ConformanceCase[] = [
  ...compatibleCases,
  ...kindCases,
  ...blockCases,
  ...reservedCases,
  ...exoticCases,
  ...spotCases,
];
