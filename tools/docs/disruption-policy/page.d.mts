export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}
export function leavesOf(schema: Schema, path?: string): { readonly path: string; readonly schema: Schema }[];
export function policyPage(manifest: object): string;
