import type { SpotPrice } from '@aws-sdk/client-ec2';
import { Prices, type PriceTable } from '../../../cloud/aws/prices.js';
import type { AwsCalls } from '../../../cloud/aws/calls.js';
import { refusal, steppingClock } from '../../builders/aws-world.js';
import { about, differs, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { now } from './account.js';

type ByType = Readonly<Record<string, number>>;
type BySpot = Readonly<Record<string, ByType>>;

interface Answers {
  /** Pages of on-demand prices by type; undefined: the Pricing API fails. */
  readonly listed?: readonly ByType[] | undefined;
  /** Pages of spot prices by type and zone; undefined: EC2 fails. */
  readonly spot?: readonly BySpot[] | undefined;
  readonly currency?: string;
}
interface Seen extends Pick<PriceTable, 'onDemand' | 'spot'> {
  /** How often the Pricing API was asked. */
  readonly asked: number;
  readonly descriptions: readonly string[];
}

const product = (instanceType: string, price: number, currency: string): string =>
  JSON.stringify({
    product: { attributes: { instanceType } },
    terms: { OnDemand: { a: { priceDimensions: { b: { pricePerUnit: { [currency]: String(price) } } } } } },
  });
const rows = (prices: BySpot): SpotPrice[] =>
  Object.entries(prices).flatMap(([InstanceType, zones]) =>
    Object.entries(zones).map(([AvailabilityZone, price]) => ({
      ...{ InstanceType: InstanceType as NonNullable<SpotPrice['InstanceType']>, AvailabilityZone },
      ...{ SpotPrice: String(price), Timestamp: new Date(now) },
    })),
  );
const next = (token: string | undefined, pages: readonly unknown[]): { page: number; NextToken?: string } => {
  const page = Number(token ?? 0);
  return { page, ...(page + 1 < pages.length && { NextToken: String(page + 1) }) };
};

/** Prices after AWS gave these answers, one read after another. */
async function priced(region: string, isolated: boolean, ...answers: readonly Answers[]): Promise<Seen> {
  let answer: Answers = {};
  let asked = 0;
  let descriptions: readonly string[] = [];
  const calls = {
    getProducts: ({ NextToken: token }: { NextToken?: string }) => {
      asked += 1;
      const { listed, currency = 'USD' } = answer;
      if (listed === undefined) return Promise.reject(refusal('InternalError', 'failed', 'pricing:GetProducts', 500));
      const { page, ...rest } = next(token, listed);
      const PriceList = Object.entries(listed[page] ?? {}).map(([type, price]) => product(type, price, currency));
      return Promise.resolve({ PriceList, ...rest });
    },
    describeSpotPriceHistory: (input: { NextToken?: string; ProductDescriptions?: readonly string[] }) => {
      descriptions = input.ProductDescriptions ?? [];
      const { spot } = answer;
      if (spot === undefined) return Promise.reject(refusal('InternalError', 'failed', 'ec2:Describe', 500));
      const { page, ...rest } = next(input.NextToken, spot);
      return Promise.resolve({ SpotPriceHistory: rows(spot[page] ?? {}), ...rest });
    },
  } as unknown as Pick<AwsCalls, 'getProducts' | 'describeSpotPriceHistory'>;
  const clock = steppingClock(now);
  const prices = new Prices({ calls, region, isolated, clock });
  for (const each of answers) {
    answer = each;
    clock.time += 12 * 3_600_000;
    await prices.current();
  }
  const { onDemand, spot } = await prices.current();
  return { onDemand, spot, asked, descriptions };
}
const checks = (
  result: (seen: Seen) => unknown,
  expected: unknown,
  answers: readonly Answers[],
  region = 'us-west-2',
) => gives(async () => result(await priced(region, false, ...answers)), expected);
const onDemand = (expected: ByType, ...answers: readonly Answers[]): Check =>
  checks(
    (seen) => Object.fromEntries(Object.keys(expected).map((type) => [type, seen.onDemand[type]])),
    expected,
    answers,
  );
const spot = (expected: BySpot, ...answers: readonly Answers[]): Check =>
  checks((seen) => seen.spot, expected, answers);
const a = 'test-zone-1a';
const b = 'test-zone-1b';
const c = 'test-zone-1c';
const two = { 'c98.large': 1.2, 'c99.large': 1.23 };
const some = [{ 'c99.large': { [a]: 1.23 } }];
const well: Answers = { listed: [two], spot: some };
const isPriced =
  (...types: readonly string[]) =>
  (seen: Seen): readonly boolean[] =>
    types.map((type) => (seen.onDemand[type] ?? 0) > 0);
const builtIn = (at: number, region: string, ...types: readonly string[]): ConformanceCase =>
  same(
    at,
    `prices of ${region} that are built in`,
    checks(
      isPriced(...types),
      types.map(() => true),
      [{}],
      region,
    ),
  );

/** pkg/controllers/providers/pricing/suite_test.go */
export const pricingCases: readonly ConformanceCase[] = about('prices', [
  builtIn(111, 'us-east-1', 'm5.large', 'c5.large', 'm6g.large', 'p4d.24xlarge'),
  builtIn(112, 'us-gov-west-1', 'm5.large', 'c5.large', 'm6g.large'),
  builtIn(113, 'cn-north-1', 'm5.large', 'c5.large', 'm6g.large'),
  same(115, 'a failing Pricing API keeps the built-in prices', checks(isPriced('c5.large'), [true], [{ spot: some }])),
  same(122, 'are those of the Pricing API', onDemand(two, well)),
  same(
    141,
    'of spot are read for both Linux products',
    checks(({ descriptions }) => descriptions, ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'], [well]),
  ),
  same(
    168,
    'in China are in yuan',
    checks((seen) => seen.onDemand, two, [{ ...well, currency: 'CNY' }], 'cn-northwest-1'),
  ),
  same(
    199,
    'are read over several pages',
    onDemand(
      { 'c94.large': 1.1, 'c95.large': 1.2, 'c96.large': 1.3, 'c99.large': 1.6 },
      { ...well, listed: [{ 'c94.large': 1.1, 'c95.large': 1.2 }, { 'c96.large': 1.3 }, { 'c99.large': 1.6 }] },
    ),
  ),
  same(
    226,
    'that the next answer lacks are kept',
    onDemand({ 'c98.large': 1.3, 'c99.large': 1.23 }, well, { ...well, listed: [{ 'c98.large': 1.3 }] }),
  ),
  differs(
    266,
    'without any spot prices',
    'instance-types/prices',
    'without a price there is no spot: what it costs is not guessed from prices on demand',
    spot({}, { listed: [two] }),
  ),
  same(
    273,
    'of spot are by type and zone',
    spot(
      { 'c99.large': { [a]: 1.23, [b]: 1.5 }, 'c98.large': { [a]: 1.2, [b]: 1.1 } },
      { ...well, spot: [{ 'c99.large': { [a]: 1.23, [b]: 1.5 }, 'c98.large': { [a]: 1.2, [b]: 1.1 } }] },
    ),
  ),
  same(
    [319, 352],
    'of spot are absent in a zone without one',
    spot(
      { 'c99.large': { [a]: 1.23 }, 'c98.large': { [a]: 1.2 } },
      { ...well, spot: [{ 'c99.large': { [a]: 1.23 }, 'c98.large': { [a]: 1.2 } }] },
    ),
  ),
  same(
    375,
    'of spot are read over several pages',
    spot(
      { 'c99.large': { [a]: 1.2, [b]: 1.3, [c]: 1.4 }, 'c98.large': { [b]: 1.3, [c]: 1.4, [a]: 1.2 } },
      {
        ...well,
        spot: [
          { 'c99.large': { [a]: 1.2 }, 'c98.large': { [b]: 1.3 } },
          { 'c99.large': { [b]: 1.3 }, 'c98.large': { [c]: 1.4 } },
          { 'c99.large': { [c]: 1.4 }, 'c98.large': { [a]: 1.2 } },
        ],
      },
    ),
  ),
  same(
    441,
    'of on-demand are built in for an isolated VPC',
    gives(async () => {
      const seen = await priced('us-east-1', true, { listed: [{ 'c5.large': 99 }], spot: some });
      return [seen.onDemand['c5.large'] === 99, seen.onDemand['c3.2xlarge'], seen.spot, seen.asked];
    }, [false, 0.42, some[0], 0]),
  ),
  same(
    480,
    'in GovCloud need no Pricing API',
    checks((seen) => [seen.asked, ...isPriced('c5.12xlarge')(seen)], [0, true], [well], 'us-gov-east-1'),
  ),
  same(
    488,
    'of spot that the next answer lacks are kept',
    spot(
      { 'c98.large': { [a]: 1.2 }, 'c99.large': { [a]: 1.4, [b]: 1.3 } },
      { ...well, spot: [{ 'c98.large': { [a]: 1.2 }, 'c99.large': { [a]: 1.3, [b]: 1.3 } }] },
      { ...well, spot: [{ 'c99.large': { [a]: 1.4 } }] },
    ),
  ),
]);
