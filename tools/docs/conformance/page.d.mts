import type { Apart, Suite } from '../../../test/conformance/conformance-case.js';

export interface Upstream {
  readonly commit: string;
  readonly suites: Readonly<Record<string, readonly (readonly [line: number, digest: string])[]>>;
}
/** Whose tests a page is about; `list` and `page` are files below the root. */
export interface Source {
  readonly title: string;
  readonly repository: string;
  readonly owner: string;
  readonly folder: string;
  readonly list: string;
  readonly page: string;
}
export const karpenter: Source;
export const awsProvider: Source;
export function conformancePage(
  suites: readonly Suite[],
  apart: readonly Apart[],
  upstream: Upstream,
  of?: Source,
): string;
