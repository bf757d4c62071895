/** What Ginkgo's JSON report says of a spec; times in nanoseconds. */
export interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

export interface SuiteReport {
  readonly SpecReports: readonly SpecReport[] | null;
}

export interface SpecOutcome {
  /** Its containers and its own text, as Ginkgo's `--ginkgo.focus` sees it. */
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'differs';
  readonly seconds: number;
  /** Of what failed, or why it differs on purpose. */
  readonly why?: string;
}

/** The specs that ran. `onPurpose` has by title why Stowage differs. */
export function outcomesOf(
  suites: readonly SuiteReport[],
  onPurpose: ReadonlyMap<string, string>,
): readonly SpecOutcome[] {
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && State !== 'skipped' && State !== 'pending')
    .map((spec) => outcomeOf(spec, onPurpose));
}

function outcomeOf(spec: SpecReport, onPurpose: ReadonlyMap<string, string>): SpecOutcome {
  const title = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ');
  const seconds = Math.round(spec.RunTime / 1e9);
  if (spec.State === 'passed') return { title, outcome: 'passed', seconds };
  const reason = onPurpose.get(title);
  if (reason !== undefined) return { title, outcome: 'differs', seconds, why: reason };
  return { title, outcome: 'failed', seconds, why: spec.Failure?.Message ?? spec.State };
}

/** A line a spec that did not pass, and how many did. */
export function summaryOf(outcomes: readonly SpecOutcome[]): string {
  const count = (outcome: SpecOutcome['outcome']): number => outcomes.filter((spec) => spec.outcome === outcome).length;
  const others = outcomes.filter(({ outcome }) => outcome !== 'passed');
  const lines = others.map(({ title, outcome, why = '' }) => `${outcome}: ${title}\n    ${why.split('\n')[0] ?? ''}`);
  return [...lines, `${count('passed')} passed, ${count('differs')} differ on purpose, ${count('failed')} failed`].join(
    '\n',
  );
}
