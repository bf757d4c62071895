// What is wrong between the rules of docs/behaviour and those who cite them. Pure: texts in, sentences out.

/** `page/slug`, as rules are named. */
const name = /^[a-z][a-z-]*\/[a-z0-9][a-z0-9-]*$/;
const oldCitation =
  /(?<!-)\b(?:sections?|scenarios?|invariants?|principles?)[\s*/]+\d|karpenter-behaviour\.md|§\s*\d|(?:test|describe|\))\(\s*['"`]\d+(?:, \d+)*: /gi;
const notTested = /^_Not tested: (.+)\._$/m;

/** The rules of one page: `{ rule, untested }`, where `untested` is why no test cites it, if the page says so. */
export function rulesOf({ page, text }) {
  return text
    .split(/^### /m)
    .slice(1)
    .map((part) => ({ rule: `${page}/${part.split('\n', 1)[0].trim()}`, untested: notTested.exec(part)?.[1] }));
}

/**
 * One sentence for each problem, in the order of the input. `pages` are `{ page, text }`, `files` are `{ file, text }`: what may cite.
 * `isTest` says which files are tests.
 */
export function problemsOf(pages, files, isTest) {
  const rules = pages.flatMap(rulesOf);
  const known = knownNames(rules);
  const tested = new Set(files.filter(({ file }) => isTest(file)).flatMap(({ text }) => citedIn(text, known)));
  return [
    ...twice(rules),
    ...pages.flatMap((page) => brokenLinks(page, known)),
    ...files.flatMap((file) => [...citationsOfNothing(file, known), ...oldCitations(file)]),
    ...rules.flatMap((rule) => testing(rule, tested)),
  ];
}

function knownNames(rules) {
  const parts = rules.map(({ rule }) => rule.split('/'));
  return {
    rules: new Set(rules.map(({ rule }) => rule)),
    pages: new Set(parts.map(([page]) => page)),
    slugs: new Map(parts.map(([page, slug]) => [slug, page])),
  };
}

function twice(rules) {
  const seen = new Set();
  return rules.flatMap(({ rule }) => {
    const again = seen.has(rule);
    seen.add(rule);
    return again ? [`docs/behaviour: rule ${rule} is there twice`] : [];
  });
}

function brokenLinks({ page, text }, known) {
  return [...text.matchAll(/\]\(([a-z-]+)\.md(?:#([\w-]+))?\)/g)].flatMap(([, to, slug]) => {
    const good = known.pages.has(to) && (slug === undefined || known.rules.has(`${to}/${slug}`));
    return good
      ? []
      : [`docs/behaviour/${page}.md: links to ${to}.md${slug === undefined ? '' : `#${slug}`}, which is not there`];
  });
}

/** Names of rules anywhere in the text, as whole words. */
function citedIn(text, known) {
  return [...text.matchAll(/(?<![\w/.-])[a-z][a-z-]*\/[a-z0-9][a-z0-9-]*(?![\w/-])/g)]
    .map(([found]) => found)
    .filter((found) => known.rules.has(found));
}

function citationsOfNothing({ file, text }, known) {
  return [...inBrackets(text, known), ...afterRule(text)]
    .filter(({ cited }) => !known.rules.has(cited))
    .map(({ cited, index }) => `${file}:${lineOf(text, index)}: cites ${cited}, which is no rule${hint(cited, known)}`);
}

/** `(page/slug, page/slug: more)`: what looks like a rule by its page or by its slug. */
function inBrackets(text, known) {
  return [...text.matchAll(/\(([^()]*)\)/g)].flatMap(({ 1: inner, index }) =>
    inner
      .split(/[,;]/)
      .map((part) => part.trim().split(/[\s:]/, 1)[0].replace(/^`|`$/g, ''))
      .filter((word) => name.test(word) && (known.pages.has(word.split('/')[0]) || known.slugs.has(word.split('/')[1])))
      .map((cited) => ({ cited, index })),
  );
}

/** ``Rule `page/slug` `` and ``Rules `page/slug`, `page/slug` ``. */
function afterRule(text) {
  return [...text.matchAll(/\bRules? ((?:`[^`\n]+`(?:, | and )?)+)/g)].flatMap(({ 1: list, index }) =>
    [...list.matchAll(/`([^`]+)`/g)].map(([, cited]) => ({ cited, index })),
  );
}

function hint(cited, known) {
  const page = known.slugs.get(cited.split('/')[1]);
  return page === undefined ? '' : ` (${page}/${cited.split('/')[1]} is one)`;
}

function oldCitations({ file, text }) {
  return [...text.matchAll(oldCitation)].map(
    ({ 0: found, index }) =>
      `${file}:${lineOf(text, index)}: "${found.replace(/\s+/g, ' ')}" cites by number: name a rule of docs/behaviour`,
  );
}

function testing({ rule, untested }, tested) {
  if (untested === undefined && !tested.has(rule))
    return [`${rule}: no test cites it. Cite it above its test, or say in the page: _Not tested: why._`];
  if (untested !== undefined && tested.has(rule))
    return [`${rule}: a test cites it, though its page says "Not tested"`];
  return [];
}

function lineOf(text, index) {
  return text.slice(0, index).split('\n').length;
}
