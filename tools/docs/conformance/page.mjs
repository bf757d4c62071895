// What the tests of Karpenter's own suites are here.
const row = (...cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
const table = (head, rows) =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((each) => row(...each))].join('\n');
const verdicts = ['same', 'differs', 'not applicable'];

/** Whose tests a page is about. */
export const karpenter = {
  title: 'Conformance',
  repository: 'kubernetes-sigs/karpenter',
  owner: 'own',
  folder: 'test/conformance/',
  list: 'test/conformance/upstream.json',
  page: 'dist/conformance.md',
};
export const awsProvider = {
  title: 'Conformance with the AWS provider',
  repository: 'aws/karpenter-provider-aws',
  owner: "AWS provider's",
  folder: 'test/conformance/aws/',
  list: 'test/conformance/aws/upstream.json',
  page: 'dist/conformance-aws.md',
};

/** What cases say of the tests of a suite. Throws for a line that has no test, and for a test with two cases. */
function verdictsOf({ path, cases }, tests) {
  const lines = new Set(tests.map(([line]) => line));
  const seen = new Map();
  for (const { at, title, verdict } of cases)
    for (const line of at.flatMap((place) => linesOf(place, tests))) {
      if (!lines.has(line)) throw new Error(`${path}: "${title}" names line ${line}, where no test begins`);
      if (seen.has(line)) throw new Error(`${path}: "${title}" names line ${line}, which has a case already`);
      seen.set(line, verdict);
    }
  return seen;
}

/** The lines of a place: those of all tests between two lines, where it has two. */
export const linesOf = (place, tests) =>
  typeof place === 'number'
    ? [place]
    : tests.map(([line]) => line).filter((line) => line >= place[0] && line <= place[1]);

const counts = (seen, total) => {
  const of = verdicts.map((verdict) => [...seen.values()].filter((each) => each === verdict).length);
  return [total, ...of, total - seen.size];
};
const sum = (rows) => rows.reduce((a, b) => a.map((each, i) => each + b[i]));

/** The whole page. `suites` have cases, `apart` names folders and files that do not apply as a whole; `of` is whose tests they are. */
export function conformancePage(suites, apart, { commit, suites: upstream }, of = karpenter) {
  const link = (path, line, to) =>
    `[${to === undefined ? line : `${line} to ${to}`}](https://github.com/${of.repository}/blob/${commit}/${path}#L${line})`;
  for (const { path } of suites)
    if (upstream[path] === undefined) throw new Error(`${path} is no suite of Karpenter's`);
  const covered = suites.map((suite) => ({
    ...suite,
    tests: upstream[suite.path],
    seen: verdictsOf(suite, upstream[suite.path]),
  }));
  const paths = Object.keys(upstream).filter((path) => !suites.some((suite) => suite.path === path));
  const apartOf = (path) => apart.find((each) => path.startsWith(each.path));
  const others = paths.map((path) => {
    const total = upstream[path].length;
    return { path, figures: apartOf(path) === undefined ? [total, 0, 0, 0, total] : [total, 0, 0, total, 0] };
  });
  const figures = [
    ...covered.map(({ path, seen, tests }) => ({ path, figures: counts(seen, tests.length) })),
    ...others,
  ];
  const head = ['suite', 'tests', ...verdicts, 'no case'];
  return `# ${of.title}

The results of the tests of Karpenter's ${of.owner} suites, test by test: commit \`${commit.slice(0, 12)}\` of ${of.repository}, everything below \`pkg/\`. Written by
\`npm run generate -- conformance\` from \`${of.folder}\`, whose cases rewrite each test in the terms of this project, as a small cluster with its expected result. Line numbers link to the
original test. \`npm test\` runs the cases. The checker also judges the plans. Tests of a running
process (\`test/conformance/running\`) run against the whole product, its operator, workflows and activities, in simulated time ([docs/simulation](simulation.md)).

- **same**: the result is what Karpenter's test expects. If the test expects a type or a number of nodes where other plans satisfy the rule too, the plan may cost at most as much as Karpenter's choice.
- **differs**: the result differs on purpose; the rule of [docs/behaviour](behaviour/README.md) says why.
- **not applicable**: the test is about something that a plan does not have, such as metrics, writing objects, or features that are not modelled.
- **no case**: nothing is claimed about it.

${table(head, [...figures.map(({ path, figures: each }) => [`\`${path}\``, ...each]), ['all', ...sum(figures.map((each) => each.figures))]])}

## Suites that do not apply

${table(
  ['suites', 'why'],
  apart.map(({ path, why }) => [`\`${path}\``, why]),
)}

${covered.map((suite) => section(suite, link)).join('\n\n')}
`;
}

/** A list: a table would be padded to its longest cell. */
function section({ path, cases, tests, seen }, link) {
  const items = cases.map(({ at, title, verdict, why = '', rule }) => {
    const reason = rule === undefined ? why : `${why} (${rule})`;
    const places = at.map((place) => (typeof place === 'number' ? link(path, place) : link(path, place[0], place[1])));
    const lines = places.length === 0 ? '' : ` (${places.join(', ')})`;
    return `- ${title}${lines}: ${verdict}${reason === '' ? '' : `; ${reason}`}`;
  });
  const uncovered = tests.filter(([line]) => !seen.has(line)).map(([line]) => link(path, line));
  const rest = uncovered.length === 0 ? '' : `\n\nNo case: ${uncovered.join(', ')}.`;
  return `## ${path}\n\n${items.join('\n')}${rest}`;
}
