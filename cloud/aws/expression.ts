import { quoted } from '../../core/text.js';
import { lookUp } from '../../core/own.js';

/** An expression that cannot be parsed or evaluated. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

type Value = number | string | boolean;
type Kind = 'number' | 'text' | 'truth';
export type Variables = Readonly<Record<string, Value>>;
type Kinds = Readonly<Record<string, Kind>>;

/** A parsed part of an expression. Its type is known before evaluation, as in CEL. */
interface Part {
  readonly kind: Kind;
  readonly of: (variables: Variables) => Value;
}

/** Limits recursion: each parenthesis uses stack. */
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
      throw new ExpressionError(`${quoted(source)}: unexpected token at ${quoted(source.slice(at).trim())}`);
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
 * Evaluates an expression of the node class's kubelet settings (node-classes/kubelet-expressions): the subset of CEL
 * for numbers, with `max`, `min` and string tests. Throws `ExpressionError`.
 */
export function evaluate(source: string, variables: Variables): Value {
  const kinds = Object.entries(variables).map(([name, value]) => [name, kindOf(value)] as const);
  return read(source, Object.fromEntries(kinds)).of(variables);
}

/**
 * Throws `ExpressionError` if an expression over variables of these kinds does not give a number for all
 * values of them.
 */
export function checkReadable(source: string, kinds: Kinds): void {
  const { kind } = read(source, kinds);
  if (kind !== 'number') throw new ExpressionError(`${quoted(source)} gives ${nouns[kind]}, but a number is required`);
}

const nouns: Readonly<Record<Kind, string>> = { number: 'a number', text: 'a string', truth: 'true or false' };

function kindOf(value: Value): Kind {
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'number' : 'truth';
}

function read(source: string, kinds: Kinds): Part {
  if (source.length > longest)
    throw new ExpressionError(`${quoted(source)}: at most ${longest} characters are allowed`);
  return new Parser(source, tokens(source), kinds).whole();
}

class Parser {
  private at = 0;

  constructor(
    private readonly source: string,
    private readonly list: readonly Token[],
    private readonly kinds: Kinds,
  ) {}

  whole(): Part {
    const part = this.choice();
    if (this.next.kind !== 'end') this.fail(`"${this.next.text}" is unexpected`);
    return part;
  }

  /** At the end, returns the end token repeatedly. */
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

  /** Parses both branches but evaluates only one: the other may divide by zero. */
  private choice(): Part {
    const condition = this.binary(0);
    if (!this.take('?')) return condition;
    const yes = this.choice();
    this.expect(':');
    const no = this.choice();
    if (condition.kind !== 'truth') this.fail('the condition before "?" is not true or false');
    if (yes.kind !== no.kind) this.fail(`one branch is ${nouns[yes.kind]}, the other ${nouns[no.kind]}`);
    return { kind: yes.kind, of: (variables) => (condition.of(variables) === true ? yes : no).of(variables) };
  }

  private binary(level: number): Part {
    const signs = levels[level];
    if (signs === undefined) return this.unary();
    let part = this.binary(level + 1);
    for (;;) {
      const sign = signs.find((each) => this.take(each));
      if (sign === undefined) return part;
      part = this.apply(sign, part, this.binary(level + 1));
    }
  }

  private unary(): Part {
    if (this.take('-')) {
      const part = this.number(this.unary());
      return { kind: 'number', of: (variables) => -(part.of(variables) as number) };
    }
    if (this.take('!')) {
      const part = this.truth(this.unary());
      return { kind: 'truth', of: (variables) => part.of(variables) !== true };
    }
    return this.member(this.primary());
  }

  private primary(): Part {
    const { kind, text } = this.next;
    this.at += 1;
    if (kind === 'number') return constant(Number(text));
    if (kind === 'text') return constant(text);
    if (kind === 'name') return this.named(text);
    if (text !== '(') this.fail(`"${text}" is unexpected`);
    const part = this.choice();
    this.expect(')');
    return part;
  }

  private named(name: string): Part {
    if (name === 'true' || name === 'false') return constant(name === 'true');
    if (this.take('(')) return this.called(name, this.parts());
    const kind = lookUp(this.kinds, name);
    if (kind === undefined) return this.fail(`${name} is unknown; allowed are ${Object.keys(this.kinds).join(', ')}`);
    return { kind, of: (variables) => lookUp(variables, name)! };
  }

  private called(name: string, given: readonly Part[]): Part {
    const work = lookUp(functions, name);
    if (work === undefined) return this.fail(`unknown function ${name}; allowed are max, min, int and double`);
    const numbers = given.map((part) => this.number(part));
    return { kind: 'number', of: (variables) => work(...numbers.map((part) => part.of(variables) as number)) };
  }

  private parts(): Part[] {
    const parts = [this.choice()];
    while (this.take(',')) parts.push(this.choice());
    this.expect(')');
    return parts;
  }

  private member(part: Part): Part {
    if (!this.take('.')) return part;
    const { text: method } = this.next;
    this.at += 1;
    this.expect('(');
    const [argument] = this.parts();
    if (part.kind !== 'text' || argument?.kind !== 'text') return this.fail(`${method} needs strings`);
    const test = lookUp(methods, method);
    if (test === undefined)
      return this.fail(`unknown string method ${method}; allowed are startsWith, endsWith and contains`);
    return this.member({
      kind: 'truth',
      of: (variables) => test(part.of(variables) as string, argument.of(variables) as string),
    });
  }

  private apply(sign: string, left: Part, right: Part): Part {
    switch (sign) {
      case '||':
      case '&&': {
        const [first, second] = [this.truth(left), this.truth(right)];
        // Short-circuit: the second operand is evaluated only if needed.
        return { kind: 'truth', of: (of) => (first.of(of) === (sign === '||') ? sign === '||' : second.of(of)) };
      }
      case '==':
      case '!=':
        if (left.kind !== right.kind) this.fail(`${nouns[left.kind]} is never ${nouns[right.kind]}`);
        return { kind: 'truth', of: (of) => (left.of(of) === right.of(of)) === (sign === '==') };
      default:
        return this.arithmetic(sign, this.number(left), this.number(right));
    }
  }

  private arithmetic(sign: string, left: Part, right: Part): Part {
    const operation = lookUp(operations, sign)!;
    return {
      kind: sign === '<' || sign === '<=' || sign === '>' || sign === '>=' ? 'truth' : 'number',
      of: (variables) => {
        const [first, second] = [left.of(variables) as number, right.of(variables) as number];
        if ((sign === '/' || sign === '%') && second === 0)
          throw new ExpressionError(`${quoted(this.source)}: division by zero`);
        return operation(first, second);
      },
    };
  }

  private number(part: Part): Part {
    return part.kind === 'number' ? part : this.fail(`${nouns[part.kind]} is not a number`);
  }

  private truth(part: Part): Part {
    return part.kind === 'truth' ? part : this.fail(`${nouns[part.kind]} is not true or false`);
  }
}

function constant(value: Value): Part {
  return { kind: kindOf(value), of: () => value };
}

const functions: Readonly<Record<string, (...numbers: number[]) => number>> = {
  max: Math.max,
  min: Math.min,
  int: (value = 0) => Math.trunc(value),
  double: (value = 0) => value,
};

const methods: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
};

const operations: Readonly<Record<string, (left: number, right: number) => Value>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  // Integers are divided as in CEL.
  '/': (left, right) => (Number.isInteger(left) && Number.isInteger(right) ? Math.trunc(left / right) : left / right),
  '%': (left, right) => left % right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
};
