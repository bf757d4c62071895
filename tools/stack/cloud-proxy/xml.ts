/** An XML element of an AWS answer: it has either children or text. Namespaces and comments are not kept. */
export interface XmlElement {
  name: string;
  /** The attributes as they were written, without the leading space. */
  attributes: string;
  children: XmlElement[];
  text: string;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decode = (text: string): string =>
  text.includes('&')
    ? text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
        if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
        if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
        return entities[name ?? ''] ?? whole;
      })
    : text;

const encode = (text: string): string =>
  text.replace(/[&<>"]/g, (char) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[char] ?? ''};`);

/** Parses a document. Throws an Error when its tags do not match. */
export function parseXml(document: string): XmlElement {
  const root: XmlElement = { name: '', attributes: '', children: [], text: '' };
  const open = [root];
  let at = 0;
  for (;;) {
    const start = document.indexOf('<', at);
    if (start < 0) break;
    const current = open.at(-1)!;
    if (start > at) current.text += document.slice(at, start);
    const end = document.indexOf('>', start);
    if (end < 0) throw new Error('An XML tag does not end.');
    at = end + 1;
    const first = document[start + 1];
    if (first === '?' || first === '!') continue;
    if (first === '/') {
      closeElement(open, document.slice(start + 2, end).trim());
      continue;
    }
    const empty = document[end - 1] === '/';
    const tag = document.slice(start + 1, empty ? end - 1 : end).trim();
    const space = tag.search(/\s/);
    const element: XmlElement = {
      name: space < 0 ? tag : tag.slice(0, space),
      attributes: space < 0 ? '' : tag.slice(space + 1).trim(),
      children: [],
      text: '',
    };
    current.children.push(element);
    if (!empty) open.push(element);
  }
  if (open.length !== 1) throw new Error(`The XML element ${open.at(-1)!.name} does not end.`);
  const [top] = root.children;
  if (top === undefined) throw new Error('The XML document is empty.');
  return top;
}

function closeElement(open: XmlElement[], name: string): void {
  const element = open.pop();
  if (element?.name !== name) throw new Error(`The XML tag </${name}> closes ${element?.name ?? 'nothing'}.`);
  element.text = element.children.length > 0 ? '' : decode(element.text.trim());
}

export function formatXml(element: XmlElement): string {
  const { name, attributes, children, text } = element;
  const open = attributes === '' ? name : `${name} ${attributes}`;
  if (children.length === 0) return text === '' ? `<${open}/>` : `<${open}>${encode(text)}</${name}>`;
  return `<${open}>${children.map(formatXml).join('')}</${name}>`;
}

/** Builds an element from text or from children; undefined children are left out. */
export function element(name: string, content: string | number | readonly (XmlElement | undefined)[]): XmlElement {
  const base = { name, attributes: '', children: [], text: '' };
  if (typeof content === 'object') return { ...base, children: content.filter((child) => child !== undefined) };
  return { ...base, text: String(content) };
}

export function child(parent: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  let found = parent;
  for (const name of path) found = found?.children.find((each) => each.name === name);
  return found;
}

/** The text at a path of element names, or undefined. */
export const textOf = (parent: XmlElement | undefined, ...path: readonly string[]): string | undefined =>
  child(parent, ...path)?.text;

/** The elements of a list such as `instancesSet`, whose members are called `item`. */
export const itemsOf = (parent: XmlElement | undefined, ...path: readonly string[]): XmlElement[] =>
  child(parent, ...path)?.children ?? [];

/** Replaces the child of that name, or appends it. */
export function setChild(parent: XmlElement, replacement: XmlElement): void {
  const index = parent.children.findIndex((each) => each.name === replacement.name);
  if (index < 0) parent.children.push(replacement);
  else parent.children[index] = replacement;
}
