import type { Apart, Suite } from '../../test/conformance/told.js';

export interface Upstream {
  readonly commit: string;
  readonly suites: Readonly<Record<string, readonly (readonly [line: number, digest: string])[]>>;
}
export function conformancePage(suites: readonly Suite[], apart: readonly Apart[], upstream: Upstream): string;
