// What scripts/structure.mjs counts in the sources of one commit: a map from path to text.
import ts from 'typescript';

const longClass = 300;
const longFunction = 40;
const longFile = 300;
/** Words that had a meaning here that nobody else knows (docs/glossary.md). */
const ownWords =
  /\b(berths?|blueprint|circles|company|draw ?up|guests?|ladder|leaving|loose|peace|promises|pursuit|rungs?|sparing|standing|tastes?|wish(es)?)\b/gi;

/** What runs in a cluster, and the command line: in these folders scripts/names.test.ts holds names apart. */
const isProduct = (path) =>
  /^(activities|api|cli|cloud|cluster|core|disruption|kube|operator|packing|process|worker|workflows)\//.test(path);
const isTest = (path) => /\.test\.ts$|^test\//.test(path);

/** @returns {readonly [string, number][]} what was counted, by its name in the table */
export function measure(sources) {
  const all = [...sources];
  const product = all.filter(([path]) => !isTest(path));
  const found = { classes: 0, functions: 0, exports: 0, longestClass: 0, longestFunction: 0, patches: 0 };
  const byName = new Map();
  for (const [path, text] of product) look(path, text, found, byName);
  const lines = product.map(([, text]) => linesOf(text));
  return [
    ['files, tests apart', product.length],
    ['lines, tests apart', lines.reduce((sum, each) => sum + each, 0)],
    ['lines of tests', all.filter(([path]) => isTest(path)).reduce((sum, [, text]) => sum + linesOf(text), 0)],
    ['longest file', Math.max(...lines)],
    [`files over ${longFile} lines`, lines.filter((each) => each > longFile).length],
    ['longest class', found.longestClass],
    [`classes over ${longClass} lines`, found.classes],
    ['longest function', found.longestFunction],
    [`functions over ${longFunction} lines`, found.functions],
    ['exported names', found.exports],
    ['names that two files of the product export', twice(byName, isProduct)],
    ['the same, with the tools beside it', twice(byName, () => true)],
    ['pairs of folders that import each other', mutual(arrows(product, 1))],
    ['the same, of folders in folders', mutual(arrows(product, 2))],
    ['calls of patched()', found.patches],
    ['words of our own', product.reduce((sum, [, text]) => sum + wordsIn(text), 0)],
  ];
}

/** How many names more than one of these files exports. */
const twice = (byName, isCounted) =>
  [...byName.values()].filter((files) => [...files].filter(isCounted).length > 1).length;
const linesOf = (text) => text.split('\n').length - 1;
/** Names of Node and zod that have such a word in them. */
const foreign = /'node:[a-z/_]+'|\bz\.looseObject\b/g;
/** `wantsCompany` has the word, too. */
const wordsIn = (text) =>
  (
    text
      .replace(foreign, '')
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .match(ownWords) ?? []
  ).length;

function look(path, text, found, byName) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const line = (position) => source.getLineAndCharacterOfPosition(position).line;
  const length = (node) => line(node.end) - line(node.getStart()) + 1;
  const visit = (node) => {
    if (ts.isClassDeclaration(node)) {
      found.longestClass = Math.max(found.longestClass, length(node));
      if (length(node) > longClass) found.classes++;
    } else if (ts.isFunctionLike(node) && node.body !== undefined) {
      found.longestFunction = Math.max(found.longestFunction, length(node));
      if (length(node) > longFunction) found.functions++;
    }
    if (ts.isCallExpression(node) && node.expression.getText() === 'patched') found.patches++;
    ts.forEachChild(node, visit);
  };
  visit(source);
  for (const name of source.statements.flatMap(exportedBy)) {
    found.exports++;
    byName.set(name, (byName.get(name) ?? new Set()).add(path));
  }
}

function exportedBy(statement) {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  return statement.name === undefined ? [] : [statement.name.text];
}

/** `from to` for each folder, `depth` levels deep, that imports another. */
function arrows(sources, depth) {
  const folderOf = (path) => path.split('/').slice(0, -1).slice(0, depth).join('/');
  return new Set(
    sources.flatMap(([path, text]) =>
      [...text.matchAll(/from '(\.[^']+)'/g)].map(([, to]) => {
        const target = new URL(to, `file:///${path}`).pathname.slice(1);
        return `${folderOf(path)} ${folderOf(target)}`;
      }),
    ),
  );
}

function mutual(edges) {
  return [...edges].filter((edge) => {
    const [from, to] = edge.split(' ');
    // A folder and one within it are one room.
    return from < to && !to.startsWith(`${from}/`) && edges.has(`${to} ${from}`);
  }).length;
}
