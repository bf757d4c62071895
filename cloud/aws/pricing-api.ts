import { DomainError } from '../../core/failures.js';
import type { AwsCalls } from './calls.js';
import { allPages } from './pages.js';

interface Asked {
  readonly calls: Pick<AwsCalls, 'getProducts'>;
  readonly region: string;
}

/** List prices of shared machines with Linux, and of bare metal. */
export async function onDemandPrices(options: Asked): Promise<Record<string, number>> {
  const common = {
    regionCode: options.region,
    serviceCode: 'AmazonEC2',
    preInstalledSw: 'NA',
    operatingSystem: 'Linux',
    capacitystatus: 'Used',
    marketoption: 'OnDemand',
  };
  const [shared, metal] = await Promise.all([
    products(options, { ...common, tenancy: 'Shared', productFamily: 'Compute Instance' }),
    products(options, { ...common, tenancy: 'Dedicated', productFamily: 'Compute Instance (bare metal)' }),
  ]);
  const prices = Object.fromEntries([...metal, ...shared]);
  if (Object.keys(prices).length === 0) {
    throw new DomainError('Unavailable', `pricing:GetProducts: no prices for region ${options.region}`);
  }
  return prices;
}

async function products(options: Asked, fields: Record<string, string>): Promise<(readonly [string, number])[]> {
  const lists = await allPages(
    'pricing:GetProducts',
    (token) =>
      options.calls.getProducts({
        ServiceCode: 'AmazonEC2',
        MaxResults: 100,
        NextToken: token,
        Filters: Object.entries(fields).map(([Field, Value]) => ({ Type: 'TERM_MATCH', Field, Value })),
      }),
    (page) => page.PriceList as readonly string[] | undefined,
  );
  return lists.flatMap((item) => {
    const price = onDemandPrice(itemOf(item));
    return price === undefined ? [] : [price];
  });
}

/** An item that cannot be parsed has no price. */
function itemOf(text: string): PriceListItem {
  try {
    return (JSON.parse(text) ?? {}) as PriceListItem;
  } catch {
    return {};
  }
}

interface PriceListItem {
  readonly product?: { readonly attributes?: Readonly<Record<string, string>> };
  readonly terms?: {
    readonly OnDemand?: Readonly<
      Record<
        string,
        {
          readonly priceDimensions?: Readonly<
            Record<string, { readonly pricePerUnit?: Readonly<Record<string, string>> }>
          >;
        }
      >
    >;
  };
}

function onDemandPrice(item: PriceListItem): readonly [string, number] | undefined {
  const type = item.product?.attributes?.instanceType;
  for (const term of Object.values(item.terms?.OnDemand ?? {})) {
    for (const dimension of Object.values(term.priceDimensions ?? {})) {
      // Regions in China are priced in yuan; prices are only compared with each other.
      const price = Number(dimension.pricePerUnit?.USD ?? dimension.pricePerUnit?.CNY);
      if (type !== undefined && price > 0) return [type, price];
    }
  }
  return undefined;
}
