/** What a test of Karpenter's is worth here. */
type Verdict = 'same' | 'differs' | 'not applicable';

/** A line where a test begins, or the first and the last line of adjacent tests. */
export type Place = number | readonly [from: number, to: number];

/** A test of Karpenter's, in the project's own words. */
export interface ConformanceCase {
  /** Its place in its file at the commit of upstream.json; several for tests that say the same. */
  readonly at: readonly Place[];
  readonly title: string;
  readonly verdict: Verdict;
  /** Of what differs or does not apply. */
  readonly why?: string;
  /** The rule of docs/behaviour that says so, of what differs. */
  readonly rule?: string;
  /** What comes out, and what has to; absent where it does not apply. */
  readonly outcome?: () => unknown;
  readonly expected?: unknown;
}

export interface Suite {
  /** Its file in Karpenter's repository. */
  readonly path: string;
  readonly cases: readonly ConformanceCase[];
}

/** A file or folder of Karpenter's that does not apply as a whole. */
export interface Apart {
  readonly path: string;
  readonly why: string;
}

export interface Check {
  readonly outcome: () => unknown;
  readonly expected: unknown;
}

type At = number | readonly Place[];
const lines = (at: At): readonly Place[] => (typeof at === 'number' ? [at] : at);

export const same = (at: At, title: string, check: Check): ConformanceCase => ({
  at: lines(at),
  title,
  verdict: 'same',
  ...check,
});

export const differs = (at: At, title: string, rule: string, why: string, check: Check): ConformanceCase => ({
  at: lines(at),
  title,
  verdict: 'differs',
  rule,
  why,
  ...check,
});

export const notApplicable = (at: At, title: string, why: string): ConformanceCase => ({
  at: lines(at),
  title,
  verdict: 'not applicable',
  why,
});

/** Cases about one subject, with which their titles begin. */
export const about = (subject: string, cases: readonly ConformanceCase[]): readonly ConformanceCase[] =>
  cases.map((each) => ({ ...each, title: `${subject}: ${each.title}` }));

/** A check of a pure function. */
export const gives = (outcome: () => unknown, expected: unknown): Check => ({ outcome, expected });
