import { dirname, join } from 'node:path';

/** An arrow of a mermaid flow chart between two boxes that name files. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

const box = /(\w+)(?:\[(.*)\])?/;
const line = new RegExp(`^\\s*${box.source}\\s*(?:-- (.+?) )?-->\\s*${box.source}\\s*$`);
const file = /[a-z-]+(?:\/[\w-]+)+\.ts/g;

/** The arrows of a drawing, in its order. A box whose text begins with a file stands for that file. */
export function arrowsOf(drawing: string): readonly Arrow[] {
  const lines = drawing.split('\n').flatMap((text) => parseLine(text));
  const files = new Map<string, string>();
  for (const { ends } of lines)
    for (const { name, text = '' } of ends) {
      const [path] = text.match(file) ?? [];
      if (path !== undefined) files.set(name, path);
    }
  return lines.flatMap(({ ends: [a, b], label }) => {
    const [from, to] = [files.get(a.name), files.get(b.name)];
    return from === undefined || to === undefined || from === to ? [] : [{ from, to, label }];
  });
}

interface End {
  readonly name: string;
  readonly text: string | undefined;
}

/** `a["one"] -- label --> b["two"]`; a chain of several arrows is several lines. */
function parseLine(text: string): readonly { readonly ends: readonly [End, End]; readonly label: string }[] {
  const parts = text.split(/(-- .+? -->|-->)/);
  const found: { ends: readonly [End, End]; label: string }[] = [];
  for (let i = 1; i < parts.length - 1; i += 2) {
    const match = line.exec(`${parts[i - 1]!.trim()} ${parts[i]!} ${parts[i + 1]!.trim()}`);
    if (match === null) continue;
    const [, from = '', fromText, label = '', to = '', toText] = match;
    const ends = [
      { name: from, text: fromText },
      { name: to, text: toText },
    ] as const;
    found.push({ ends, label: label.replaceAll('"', '') });
  }
  return found;
}

/**
 * Whether the code has the arrow: the one file imports the other, or its label names what the two have in common: a signal, an activity, or
 * a method of a port such as `packer.plan`. `name.ts starts` goes by a file that the first one imports, which starts the workflow of the
 * second. What a file is made of, and what gives it its name as an activity, may be in files of its folder.
 */
export function isInCode({ from, to, label }: Arrow, code: Code): boolean {
  const by = /([\w-]+\.ts) /.exec(label)?.[1];
  const path = by === undefined ? from : importsOf(from, code).find((each) => each.endsWith(`/${by}`));
  if (path === undefined) return false;
  if (importsOf(path, code).includes(to)) return true;
  if (/\bstarts$/.test(label)) return exportedBy(code.textOf(to)).some((name) => mentions(code.textOf(path), name));
  const names = label.match(/\b(?:[a-z]+\.[a-z]\w*|[a-z]+[A-Z]\w*)\b(?!\.ts)/g) ?? [];
  const partsOf = (each: string): readonly string[] =>
    importsOf(each, code).filter((part) => dirname(part) === dirname(each));
  const caller = [path, ...partsOf(path)];
  const users = code.filesIn(dirname(to)).filter((each) => importsOf(each, code).includes(to));
  const called = [to, ...partsOf(to), ...users];
  return (
    names.length > 0 &&
    names.every(
      (name) =>
        caller.some((each) => mentions(code.textOf(each), name)) &&
        called.some((each) => mentions(code.textOf(each), name.slice(name.indexOf('.') + 1))),
    )
  );
}

/** The sources that arrows are held against. */
export interface Code {
  readonly textOf: (path: string) => string;
  /** Sources of a folder, without its tests. */
  readonly filesIn: (folder: string) => readonly string[];
}

const mentions = (text: string, name: string): boolean => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(text);

const importsOf = (path: string, { textOf }: Code): readonly string[] =>
  [...textOf(path).matchAll(/from '(\.[^']+)\.js'/g)].map(([, to = '']) => `${join(dirname(path), to)}.ts`);

const exportedBy = (text: string): readonly string[] =>
  [...text.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name = '']) => name);
