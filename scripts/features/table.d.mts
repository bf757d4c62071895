export interface OwnFeatures {
  readonly settings: readonly {
    readonly name: string;
    readonly default: string | undefined;
    readonly description: string;
  }[];
  readonly fields: readonly string[];
  readonly status: readonly string[];
  readonly labels: readonly string[];
}
export interface TheirFeatures {
  readonly version: string;
  readonly settings: Readonly<
    Record<string, { readonly default?: string; readonly why?: string; readonly differs?: string }>
  >;
  readonly fields: Readonly<Record<string, string>>;
  readonly status: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly behaviour: readonly (readonly string[])[];
}
export function featurePage(theirs: TheirFeatures, ours: OwnFeatures): string;
export function ownFeatures(
  settings: OwnFeatures['settings'],
  labels: readonly string[],
  manifests: readonly object[],
): OwnFeatures;
