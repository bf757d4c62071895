/** What an account answered, with nothing of the account in it. `npm run suite -- aws` writes it. */
export interface Recording {
  readonly version: 1;
  /** ISO 8601. */
  readonly recordedAt: string;
  readonly region: string;
  /** In the order in which they were answered. */
  readonly calls: readonly RecordedCall[];
}

export interface RecordedCall {
  /** Of the suite. */
  readonly step: string;
  readonly service: string;
  readonly action: string;
  readonly params: unknown;
  readonly status: number;
  readonly contentType: string;
  /** The header by which some services name an error. */
  readonly errorType?: string;
  readonly body: string;
}

/** The names that a recording has in place of the account's. */
export const recordedNames = { account: '123456789012', cluster: 'recorded', run: 'run', role: 'NodeRole' } as const;

/** What every account is answered alike, at great length: it is not recorded, and the local cloud answers it itself. */
export const catalogueActions: readonly string[] = [
  'DescribeInstanceTypes',
  'DescribeInstanceTypeOfferings',
  'DescribeSpotPriceHistory',
  'GetProducts',
];
