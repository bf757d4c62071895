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
/** What is made of an error of AWS, told by its code or by its words. */
export interface KnownError {
  readonly code?: string | undefined;
  readonly words?: string | undefined;
  readonly kind: string;
  readonly retried: boolean;
  readonly reason?: string | undefined;
  /** Who is told, and how. */
  readonly told: string;
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
export function featurePage(
  theirs: TheirFeatures,
  ours: OwnFeatures & { readonly errors: readonly KnownError[] },
): string;
export function errorsOf(
  known: readonly {
    readonly code?: string;
    readonly words?: string;
    readonly row: { readonly type: string; readonly reason?: string };
    readonly told: string;
  }[],
  failures: Readonly<Record<string, { readonly type: string; readonly retryable: boolean }>>,
): readonly KnownError[];
export function ownFeatures(
  settings: OwnFeatures['settings'],
  labels: readonly string[],
  manifests: readonly object[],
): OwnFeatures;
