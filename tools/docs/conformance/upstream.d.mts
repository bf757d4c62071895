import type { Suite } from '../../../test/conformance/conformance-case.js';
import type { Upstream } from './page.mjs';

export function testsOf(source: string): [line: number, digest: string][];
export function movedTests(
  suites: readonly Suite[],
  before: Upstream,
  after: Upstream,
): { path: string; from: number; to?: number }[];
