import ts from 'typescript';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Which workflow types start which, read from the code: `startChild` and `executeChild` that a workflow's function can reach. */
export function startsOf(folder) {
  const files = new Map();
  const at = (path) => {
    if (!files.has(path)) files.set(path, declarationsOf(path));
    return files.get(path);
  };
  const index = at(join(folder, 'index.ts'));
  return [...index.exported].flatMap(([type, from]) => {
    const found = new Set();
    reach(at, { path: from, name: type }, found, new Set());
    return [...found].filter((child) => child !== type).map((child) => [type, child]);
  });
}

/** A mermaid flow chart of who starts whom, in a stable order. */
export function chartOf(starts) {
  const lines = starts.map(([from, to]) => `  ${from} --> ${to}`).sort();
  return ['```mermaid', 'flowchart LR', ...new Set(lines), '```'].join('\n');
}

function reach(at, { path, name }, found, seen) {
  const key = `${path}#${name}`;
  if (seen.has(key)) return;
  seen.add(key);
  const { declared, imported } = at(path);
  const own = declared.get(name);
  if (own === undefined) return;
  own.starts.forEach((type) => found.add(type));
  for (const used of own.uses) {
    if (declared.has(used)) reach(at, { path, name: used }, found, seen);
    else if (imported.has(used)) reach(at, imported.get(used), found, seen);
  }
}

/** Of a file: what each top-level declaration starts and uses, what is imported from where, and what it hands on. */
function declarationsOf(path) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const declared = new Map();
  const imported = new Map();
  const exported = new Map();
  const target = (specifier) => join(dirname(path), specifier.text.replace(/\.js$/, '.ts'));
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node) && isOwn(node.moduleSpecifier) && node.importClause?.isTypeOnly !== true) {
      for (const { name, propertyName } of node.importClause?.namedBindings?.elements ?? []) {
        imported.set(name.text, { path: target(node.moduleSpecifier), name: (propertyName ?? name).text });
      }
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && isOwn(node.moduleSpecifier)) {
      for (const { name } of node.exportClause?.elements ?? []) exported.set(name.text, target(node.moduleSpecifier));
    } else {
      for (const name of namesOf(node)) declared.set(name, contentOf(node));
    }
  }
  return { declared, imported, exported };
}

const isOwn = ({ text }) => text.startsWith('.');

function namesOf(node) {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText());
  return node.name === undefined ? [] : [node.name.text];
}

function contentOf(declaration) {
  const starts = new Set();
  const uses = new Set();
  const visit = (node) => {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node)) uses.add(node.text);
    if (ts.isCallExpression(node) && ['startChild', 'executeChild'].includes(node.expression.getText())) {
      const [type] = node.arguments;
      if (type !== undefined && ts.isStringLiteral(type)) starts.add(type.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return { starts, uses };
}
