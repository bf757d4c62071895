export const rows: readonly {
  readonly name: string;
  readonly allowed: string;
  readonly comment: string;
  readonly types?: string | undefined;
}[];
