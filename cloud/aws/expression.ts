import { quoted } from '../../core/cut-text.js';
import { lookUp } from '../../core/own.js';

/** An expression that cannot be read or worked out. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

type Value = number | string | boolean;
export type Variables = Readonly<Record<string, Value>>;

/** Each parenthesis takes stack. */
const longest = 1000;

const token =
  /\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|'([^']*)'|"([^"]*)"|(==|!=|<=|>=|&&|\|\||[-+*/%()<>!?:,.]))/y;

interface Token {
  readonly kind: 'number' | 'name' | 'text' | 'sign' | 'end';
  readonly text: string;
}

function tokens(source: string): Token[] {
  const found: Token[] = [];
  token.lastIndex = 0;
  while (source.slice(token.lastIndex).trim() !== '') {
    const at = token.lastIndex;
    const match = token.exec(source);
    if (match === null)
      throw new ExpressionError(`${quoted(source)}: nothing known begins at ${quoted(source.slice(at).trim())}`);
    const [, number, name, single, double, sign] = match;
    if (number !== undefined) found.push({ kind: 'number', text: number });
    else if (name !== undefined) found.push({ kind: 'name', text: name });
    else if (sign !== undefined) found.push({ kind: 'sign', text: sign });
    else found.push({ kind: 'text', text: single ?? double ?? '' });
  }
  return [...found, { kind: 'end', text: 'the end' }];
}

const levels: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!=', '<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/', '%'],
];

/**
 * Works out an expression of the node class' kubelet settings (node-classes/kubelet-expressions): the part of CEL that
 * numbers need, with `max`, `min` and the tests on texts. Both branches of a condition are worked out, so neither may
 * divide by zero. Throws `ExpressionError`.
 */
export function evaluate(source: string, variables: Variables): Value {
  if (source.length > longest)
    throw new ExpressionError(`${quoted(source)}: at most ${longest} characters are allowed`);
  const parser = new Parser(source, tokens(source), variables);
  return parser.whole();
}

class Parser {
  private at = 0;

  constructor(
    private readonly source: string,
    private readonly list: readonly Token[],
    private readonly variables: Variables,
  ) {}

  whole(): Value {
    const value = this.choice();
    if (this.next.kind !== 'end') this.fail(`"${this.next.text}" is not expected`);
    return value;
  }

  /** The end comes again and again for whoever reads on. */
  private get next(): Token {
    return this.list[Math.min(this.at, this.list.length - 1)]!;
  }

  private fail(why: string): never {
    throw new ExpressionError(`${quoted(this.source)}: ${why}`);
  }

  private take(sign: string): boolean {
    if (this.next.kind !== 'sign' || this.next.text !== sign) return false;
    this.at += 1;
    return true;
  }

  private expect(sign: string): void {
    if (!this.take(sign)) this.fail(`expected "${sign}" before "${this.next.text}"`);
  }

  private choice(): Value {
    const condition = this.binary(0);
    if (!this.take('?')) return condition;
    const yes = this.choice();
    this.expect(':');
    const no = this.choice();
    if (typeof condition !== 'boolean') this.fail('the condition before "?" is neither true nor false');
    return condition ? yes : no;
  }

  private binary(level: number): Value {
    const signs = levels[level];
    if (signs === undefined) return this.unary();
    let value = this.binary(level + 1);
    for (;;) {
      const sign = signs.find((each) => this.take(each));
      if (sign === undefined) return value;
      value = this.apply(sign, value, this.binary(level + 1));
    }
  }

  private unary(): Value {
    if (this.take('-')) return -this.number(this.unary());
    if (this.take('!')) return !this.truth(this.unary());
    return this.member(this.primary());
  }

  private primary(): Value {
    const { kind, text } = this.next;
    this.at += 1;
    if (kind === 'number') return Number(text);
    if (kind === 'text') return text;
    if (kind === 'name') return this.named(text);
    if (text !== '(') this.fail(`"${text}" is not expected`);
    const value = this.choice();
    this.expect(')');
    return value;
  }

  private named(name: string): Value {
    if (name === 'true' || name === 'false') return name === 'true';
    if (this.take('(')) {
      const values = this.values();
      if (name === 'max' || name === 'min') return Math[name](...values.map((value) => this.number(value)));
      if (name === 'int') return Math.trunc(this.number(values[0]));
      if (name === 'double') return this.number(values[0]);
      return this.fail(`there is no function ${name}: max, min, int and double are known`);
    }
    const value = lookUp(this.variables, name);
    if (value !== undefined && Object.hasOwn(this.variables, name)) return value;
    return this.fail(`${name} is not known; known are ${Object.keys(this.variables).join(', ')}`);
  }

  private values(): Value[] {
    const values = [this.choice()];
    while (this.take(',')) values.push(this.choice());
    this.expect(')');
    return values;
  }

  private member(value: Value): Value {
    if (!this.take('.')) return value;
    const { text: method } = this.next;
    this.at += 1;
    this.expect('(');
    const [argument] = this.values();
    if (typeof value !== 'string' || typeof argument !== 'string') this.fail(`${method} needs texts`);
    switch (method) {
      case 'startsWith':
        return this.member(value.startsWith(argument));
      case 'endsWith':
        return this.member(value.endsWith(argument));
      case 'contains':
        return this.member(value.includes(argument));
      default:
        return this.fail(`there is no ${method} of a text: startsWith, endsWith and contains are known`);
    }
  }

  private apply(sign: string, left: Value, right: Value): Value {
    switch (sign) {
      case '||':
        return this.truth(left) || this.truth(right);
      case '&&':
        return this.truth(left) && this.truth(right);
      case '==':
        return left === right;
      case '!=':
        return left !== right;
      default:
        return this.arithmetic(sign, this.number(left), this.number(right));
    }
  }

  private arithmetic(sign: string, left: number, right: number): Value {
    if ((sign === '/' || sign === '%') && right === 0) this.fail('division by zero');
    // Whole numbers are divided as CEL divides them.
    const whole = Number.isInteger(left) && Number.isInteger(right);
    const operations: Readonly<Record<string, () => Value>> = {
      '+': () => left + right,
      '-': () => left - right,
      '*': () => left * right,
      '/': () => (whole ? Math.trunc(left / right) : left / right),
      '%': () => left % right,
      '<': () => left < right,
      '<=': () => left <= right,
      '>': () => left > right,
      '>=': () => left >= right,
    };
    return lookUp(operations, sign)!();
  }

  private number(value: Value | undefined): number {
    return typeof value === 'number' ? value : this.fail(`${String(value)} is no number`);
  }

  private truth(value: Value): boolean {
    return typeof value === 'boolean' ? value : this.fail(`${String(value)} is neither true nor false`);
  }
}
