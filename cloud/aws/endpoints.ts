const dnsSuffixes: readonly (readonly [prefix: string, suffix: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/** The domain of AWS' endpoints in the partition of a region. */
export function dnsSuffixOf(region: string): string {
  return dnsSuffixes.find(([prefix]) => region.startsWith(prefix))?.[1] ?? 'amazonaws.com';
}

/** Regions that answer GetProducts, by partition and distance. */
export function pricingRegionOf(region: string): string {
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}
