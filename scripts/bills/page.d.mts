import type { BillExample } from '../../bench/bills.js';
export function billsPage(bills: {
  readonly examples: readonly BillExample[];
  readonly extras: { readonly volumes: number; readonly publicAddress: number };
  readonly pricesOf: string;
  readonly region: string;
}): string;
