import { nodeOverlays } from '../../api/karpenter/node-overlay.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { offering } from '../cases/catalogues.js';
import type { CatalogueEntry } from '../checker/types.js';
import { parseCatalogue } from '../../cloud/kwok/catalogue.js';
import { applyOverlays } from '../../packing/compile/overlays.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';
import { noneOf, oneOf, op, pool, type, usual, zone1, zone2, zone3 } from './world.js';

interface Overlay {
  readonly requirements?: readonly NodeSelectorRequirement[];
  readonly weight?: number;
  readonly price?: string;
  readonly priceAdjustment?: string;
  readonly capacity?: Readonly<Record<string, string>>;
}
type Named = Readonly<Record<string, Overlay>>;
const overlaysOf = (overlays: Named) =>
  Object.entries(overlays).map(([name, spec]) =>
    nodeOverlays.mustParse({
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name },
      spec: { requirements: [], weight: 10, ...spec },
    }),
  );
const single: readonly CatalogueEntry[] = [type('default', { offerings: [offering(zone1, 'spot', 1.02)] })];
const zone4 = 'test-zone-4';
const varied: readonly CatalogueEntry[] = [
  type('default', {
    offerings: [
      offering(zone1, 'spot', 1.02),
      offering(zone2, 'on-demand', 2.02),
      offering(zone3, 'spot', 3.02),
      { ...offering(zone4, 'reserved', 4.02), ReservationCapacity: 1 },
    ],
  }),
];
const pools = [pool(), pool({ labels: { 'example.com/test': 'value' } }, 'second')].map((each) =>
  nodePools.mustParse(each),
);

const applied = (overlays: Named, catalogue: readonly CatalogueEntry[]) => {
  const types = parseCatalogue(JSON.stringify(catalogue));
  const catalogues = new Map(pools.map(({ metadata }) => [metadata.name ?? '', types]));
  return applyOverlays(pools, catalogues, overlaysOf(overlays));
};
/** Names of the overlays that are refused for another. */
const refused = (overlays: Named, names: readonly string[], catalogue = usual): Check =>
  gives(() => [...applied(overlays, catalogue).conflicts.keys()].sort(), names);
const cents = (price: number): number => Math.round(price * 1000) / 1000;
/** The prices of the first type's offerings, by pool. */
const prices = (overlays: Named, first: readonly number[], second = first, catalogue = single): Check =>
  gives(
    () =>
      ['default', 'second'].map((name) =>
        applied(overlays, catalogue)
          .catalogues.get(name)?.[0]
          ?.offerings.map(({ price }) => cents(price)),
      ),
    [first, second],
  );
/** How much of a resource types have, by pool. */
const amounts = (overlays: Named, resource: string, first: Readonly<Record<string, number>>, second = first): Check =>
  gives(
    () =>
      ['default', 'second'].map((name) =>
        Object.fromEntries(
          (applied(overlays, usual).catalogues.get(name) ?? []).flatMap((each) =>
            each.capacity[resource] === undefined ? [] : [[each.name, each.capacity[resource]] as const],
          ),
        ),
      ),
    [first, second],
  );
/** Names of the types whose price an overlay decides. */
const priced = (overlays: Named, names: readonly string[]): Check =>
  gives(
    () =>
      (applied(overlays, usual).catalogues.get('default') ?? [])
        .filter(({ offerings }) => offerings.some((each) => each.priceOverlayApplied === true))
        .map(({ name }) => name)
        .sort(),
    names,
  );
const ofTypes = (...names: string[]) => ({ requirements: [oneOf(labels.instanceType, ...names)] });
const ofPool = (name: string) => ({ requirements: [oneOf(labels.nodePool, name)] });
const inZone = (...names: string[]) => ({ requirements: [oneOf(labels.zone, ...names)] });
const ofKind = (...kinds: string[]) => ({ requirements: [oneOf(labels.capacityType, ...kinds)] });
const anyKind = { requirements: [op(labels.capacityType, 'Exists')] };
const fuse = 'smarter-devices/fuse';
const fuses = (amount: string, name = fuse) => ({ capacity: { [name]: amount } });

/** The same with a price and with an adjustment. */
const twice = (
  at: readonly [number, number],
  title: string,
  check: (first: Overlay, second: Overlay, results: readonly [number, number]) => Check,
): ConformanceCase[] => [
  same(at[0], `${title}: price`, check({ price: '100' }, { price: '23' }, [100, 23])),
  same(
    at[1],
    `${title}: adjustment`,
    check({ priceAdjustment: '+1000' }, { priceAdjustment: '+54' }, [1001.02, 55.02]),
  ),
];

const operator =
  'what is wrong with an overlay is written by operator/node-overlays.ts, whose tests have it (node-overlays/checks-beyond-the-schema)';
const failing = 'catalogues are read by activities/packing; an overlay sees only what was read';

export const overlayCases: readonly ConformanceCase[] = about('NodeOverlays', [
  same(105, 'none changes nothing', prices({}, [1.02])),
  same(118, 'a single one applies', refused({ a: ofTypes('default') }, [])),
  notApplicable([139, 161], 'values that the schema lets through', operator),
  same(
    189,
    'of one weight that match one type conflict',
    refused({ a: { requirements: [oneOf(labels.arch, 'arm64')], price: '1.03' }, b: { ...anyKind, price: '23' } }, [
      'a',
    ]),
  ),
  same(
    234,
    'that match no common type do not conflict',
    refused(
      {
        a: { requirements: [oneOf(labels.arch, 'arm64')], price: '1.03' },
        b: { requirements: [oneOf(labels.arch, 'amd64')], price: '23' },
      },
      [],
    ),
  ),
  same(
    331,
    'that match in one zone conflict',
    refused({ a: { ...inZone(zone1, zone2), price: '1' }, b: { ...inZone(zone2), price: '2' } }, ['a'], varied),
  ),
  same(
    376,
    'that match one capacity type conflict',
    refused({ a: { ...ofKind('spot', 'on-demand'), price: '1' }, b: { ...ofKind('spot'), price: '2' } }, ['a'], varied),
  ),
  same(
    421,
    'of different offerings do not conflict',
    refused({ a: { ...inZone(zone2), price: '1' }, b: { ...ofKind('spot'), price: '2' } }, [], varied),
  ),
  same(
    466,
    'by zone and by capacity type conflict where they match one offering',
    refused({ a: { ...inZone(zone1), price: '1' }, b: { ...ofKind('spot'), price: '2' } }, ['a'], varied),
  ),
  ...twice([562, 563], 'two prices of equal weight conflict', (first, second) =>
    refused({ a: { ...ofTypes('default', 'small'), ...first }, b: { ...ofTypes('default', 'gpu-a'), ...second } }, [
      'a',
    ]),
  ),
  ...twice([612, 613], 'two equal prices of equal weight conflict', (first) =>
    refused({ a: { ...ofTypes('default', 'small'), ...first }, b: { ...ofTypes('default', 'gpu-a'), ...first } }, [
      'a',
    ]),
  ),
  ...twice([661, 662], 'two prices for different types do not conflict', (first, second) =>
    refused(
      {
        a: { ...ofTypes('default'), ...first },
        b: { requirements: [noneOf(labels.instanceType, 'default')], ...second },
      },
      [],
    ),
  ),
  ...twice([710, 711], 'two prices of different weights do not conflict', (first, second) =>
    refused({ a: { ...ofTypes('default'), ...first }, b: { ...ofTypes('default'), weight: 20, ...second } }, []),
  ),
  same(
    [715, 836],
    'two amounts of one resource conflict',
    refused(
      { a: { ...ofTypes('default', 'small'), ...fuses('54') }, b: { ...ofTypes('default', 'gpu-a'), ...fuses('54') } },
      ['a'],
    ),
  ),
  same(
    765,
    'three amounts of one resource conflict',
    refused(
      {
        a: { ...ofTypes('default', 'small'), ...fuses('55') },
        b: { ...ofTypes('default', 'gpu-a'), ...fuses('5') },
        c: { ...ofTypes('default'), ...fuses('4') },
      },
      ['a', 'b'],
    ),
  ),
  same(
    886,
    'two amounts for different types do not conflict',
    refused(
      {
        a: { ...ofTypes('default'), ...fuses('54') },
        b: { requirements: [noneOf(labels.instanceType, 'default')], ...fuses('5') },
      },
      [],
    ),
  ),
  same(
    936,
    'two amounts of different weights do not conflict',
    refused(
      {
        a: { ...ofTypes('default'), ...fuses('55') },
        b: { ...ofTypes('default', 'gpu-a'), weight: 20, ...fuses('5') },
      },
      [],
    ),
  ),
  same(
    986,
    'amounts of different resources do not conflict',
    refused(
      {
        a: { ...ofTypes('default'), ...fuses('55') },
        b: { ...ofTypes('default', 'gpu-a'), ...fuses('5', 'smarter-devices/buz') },
      },
      [],
    ),
  ),
  ...twice([1079, 1080], 'a price for one pool', (first, _, [result]) =>
    prices({ a: { ...ofPool('default'), ...first } }, [result], [1.02]),
  ),
  ...twice([1133, 1139], 'a price for each pool', (first, second, [a, b]) =>
    prices({ a: { ...ofPool('default'), ...first }, b: { ...ofPool('second'), ...second } }, [a], [b]),
  ),
  ...twice([1185, 1186], 'a price for a label of the pool', (first, _, [result]) =>
    prices({ a: { requirements: [oneOf('example.com/test', 'value')], ...first } }, [1.02], [result]),
  ),
  notApplicable([1221, 1222, 1942], 'an overlay that is not valid', operator),
  ...twice([1251, 1252], 'a price for a missing type', (first) =>
    prices({ a: { ...ofTypes('none'), ...first } }, [1.02]),
  ),
  ...twice([1281, 1282], 'a price for a type', (first, _, [result]) =>
    prices({ a: { ...ofTypes('default'), ...first } }, [result]),
  ),
  same(
    1346,
    'a price for a capacity type',
    prices({ a: { ...ofKind('reserved'), price: '12321.32' } }, [1.02, 2.02, 3.02, 12321.32], undefined, varied),
  ),
  same(
    1347,
    'a price adjustment for a capacity type',
    prices({ a: { ...ofKind('reserved'), priceAdjustment: '+1000' } }, [1.02, 2.02, 3.02, 1004.02], undefined, varied),
  ),
  same(
    1411,
    'a price for a zone',
    prices({ a: { ...inZone(zone1), price: '121.421' } }, [121.421, 2.02, 3.02, 4.02], undefined, varied),
  ),
  same(
    1412,
    'a price adjustment for a zone',
    prices({ a: { ...inZone(zone1), priceAdjustment: '+1000' } }, [1001.02, 2.02, 3.02, 4.02], undefined, varied),
  ),
  ...twice([1505, 1512], 'a price by zone and one by capacity type', (first, second, [a]) => {
    const b = second.price === undefined ? [55.02, 57.02] : [23, 23];
    const byZone = first.price === undefined ? [1002.02, 1004.02] : [a, a];
    return prices(
      { a: { ...inZone(zone2, zone4), ...first }, b: { ...ofKind('spot'), ...second } },
      [b[0]!, byZone[0]!, b[1]!, byZone[1]!],
      undefined,
      varied,
    );
  }),
  ...twice([1611, 1617], 'the heavier price applies', (first, second) =>
    prices(
      { a: { ...ofTypes('default'), weight: 100, ...first }, b: { ...ofTypes('default'), ...second } },
      first.price === undefined ? [1001.02] : [100],
    ),
  ),
  ...twice([1690, 1694], 'a refused price does not apply', (first, second) =>
    priced(
      { a: { ...ofTypes('default', 'small', 'gpu-b'), ...first }, b: { ...ofTypes('small', 'gpu-a'), ...second } },
      ['gpu-a', 'small'],
    ),
  ),
  ...twice([1795, 1799], 'a refused price does not apply to another pool either', (first, second, [, b]) =>
    prices({ a: first, b: { ...ofPool('second'), ...second } }, [1.02], [b]),
  ),
  same(
    1807,
    'a resource for one pool',
    amounts({ a: { ...ofPool('default'), ...fuses('1') } }, fuse, everywhere(1), {}),
  ),
  same(
    1843,
    'a resource for each pool',
    amounts(
      { a: { ...ofPool('default'), ...fuses('1') }, b: { ...ofPool('second'), ...fuses('2') } },
      fuse,
      everywhere(1),
      everywhere(2),
    ),
  ),
  same(
    1899,
    'a resource for a label of the pool',
    amounts({ a: { requirements: [oneOf('example.com/test', 'value')], ...fuses('1') } }, fuse, {}, everywhere(1)),
  ),
  same(1971, 'a resource for a missing type', amounts({ a: { ...ofTypes('none'), ...fuses('1') } }, fuse, {})),
  same(
    2124,
    'two resources from two overlays',
    gives(() => {
      const overlays = {
        a: { ...ofTypes('default'), capacity: { [fuse]: '1' } },
        b: { ...ofTypes('default'), capacity: { 'hugepages-1Gi': '2Gi' } },
      };
      const type = applied(overlays, usual)
        .catalogues.get('default')
        ?.find(({ name }) => name === 'default');
      return [type?.capacity[fuse], type?.capacity['hugepages-1Gi']];
    }, [1, 2 * 2 ** 30]),
  ),
  same(
    2606,
    'types get no labels of the NodePool',
    gives(() => {
      const types = applied({ a: { ...ofTypes('default'), ...fuses('1') } }, usual).catalogues.get('second') ?? [];
      const keys = types.flatMap((each) => each.requirements.map(({ key }) => key));
      return [labels.nodePool, 'karpenter.k8s.aws/ec2nodeclass', 'example.com/test'].filter((key) =>
        keys.includes(key),
      );
    }, []),
  ),
  same(1999, 'a resource for a type', amounts({ a: { ...ofTypes('default'), ...fuses('1') } }, fuse, { default: 1 })),
  same(
    2029,
    'a resource for different types',
    amounts({ a: { ...ofTypes('default'), ...fuses('1') }, b: { ...ofTypes('small'), ...fuses('2') } }, fuse, {
      default: 1,
      small: 2,
    }),
  ),
  same(
    [2188, 2277],
    'the heavier amount applies',
    amounts(
      {
        a: { ...ofTypes('default', 'small'), weight: 100, ...fuses('1') },
        b: { ...ofTypes('default', 'gpu-a'), ...fuses('2') },
      },
      fuse,
      {
        default: 1,
        'gpu-a': 2,
        small: 1,
      },
    ),
  ),
  same(
    2335,
    'a refused amount does not apply',
    amounts(
      {
        a: { ...ofTypes('default', 'small', 'gpu-b'), ...fuses('54') },
        b: { ...ofTypes('small', 'gpu-a'), ...fuses('21') },
      },
      fuse,
      {
        small: 21,
        'gpu-a': 21,
      },
    ),
  ),
  same(
    2404,
    'a refused amount does not apply to another pool either',
    amounts({ a: fuses('54'), b: { ...ofPool('second'), ...fuses('21') } }, fuse, {}, everywhere(21)),
  ),
  same(
    2504,
    'a price from one and a resource from another',
    gives(() => {
      const [first] =
        applied(
          { a: { ...ofTypes('default'), price: '5' }, b: { ...ofTypes('default'), ...fuses('3') } },
          single,
        ).catalogues.get('default') ?? [];
      return [first?.offerings[0]?.price, first?.capacity[fuse]];
    }, [5, 3]),
  ),
  notApplicable([2548, 2575, 2640, 2668, 2692, 2700], 'providers that fail, and when it is tried again', failing),
]);

function everywhere(amount: number): Readonly<Record<string, number>> {
  return Object.fromEntries(usual.map(({ name }) => [name, amount]));
}

/** pkg/controllers/nodeoverlay/store_test.go */
export const overlayStoreCases: readonly ConformanceCase[] = about('applying NodeOverlays', [
  same(81, 'changes nothing without a match', prices({}, [1.02])),
  same(100, 'changes a price', prices({ a: { ...ofTypes('default'), priceAdjustment: '+0.01' } }, [1.03])),
  same(118, 'adds an amount', amounts({ a: { ...ofTypes('default'), ...fuses('5') } }, fuse, { default: 5 })),
  same(141, 'changes both', prices({ a: { ...ofTypes('default'), ...fuses('5'), priceAdjustment: '+0.01' } }, [1.03])),
  same(
    167,
    'changes the price of one of several offerings',
    prices({ a: { ...inZone(zone2), priceAdjustment: '+0.01' } }, [1.02, 2.03, 3.02, 4.02], undefined, varied),
  ),
  same(220, 'leaves other resources unchanged', amounts({ a: { ...ofTypes('default'), ...fuses('5') } }, 'none', {})),
  same(
    262,
    'is separate for each pool',
    prices(
      { a: { ...ofPool('default'), priceAdjustment: '+10%' }, b: { ...ofPool('second'), priceAdjustment: '-5%' } },
      [1.122],
      [0.969],
    ),
  ),
  notApplicable(321, 'a pool that was not looked at yet', 'overlays are laid over a catalogue when it is read'),
  same(
    338,
    'covers several offerings of several pools',
    prices({ a: { ...ofKind('spot'), price: '0.5' } }, [0.5, 2.02, 0.5, 4.02], undefined, varied),
  ),
]);

/** pkg/apis/v1alpha1/suite_test.go */
export const overlayOrderCases: readonly ConformanceCase[] = about('order of NodeOverlays', [
  same(
    61,
    'is by weight, the heaviest first',
    prices(
      { a: { ...ofTypes('default'), weight: 1, price: '1' }, b: { ...ofTypes('default'), weight: 2, price: '2' } },
      [2],
    ),
  ),
  same(
    89,
    'is by name among equal weights',
    refused({ a: { ...ofTypes('default'), price: '1' }, b: { ...ofTypes('default'), price: '2' } }, ['a']),
  ),
]);
