export interface Row {
  readonly name: string;
  readonly allowed: string;
  readonly comment: string;
  readonly types?: string | undefined;
}
export function tableOf(rows: readonly Row[]): string;
export function withTable(page: string, table: string): string;
export function rowsIn(page: string): string[][];
