/** Condition keys of a request, such as `aws:RequestTag/team`, with one value or several. */
export type Context = Readonly<Record<string, string | readonly string[]>>;

type Test = (found: string, wanted: string) => boolean;

const tests: Readonly<Record<string, { readonly test: Test; readonly negated?: true }>> = {
  StringEquals: { test: (found, wanted) => found === wanted },
  StringNotEquals: { test: (found, wanted) => found === wanted, negated: true },
  StringEqualsIgnoreCase: { test: (found, wanted) => found.toLowerCase() === wanted.toLowerCase() },
  StringLike: { test: (found, wanted) => matches(wanted, found) },
  StringNotLike: { test: (found, wanted) => matches(wanted, found), negated: true },
  ArnEquals: { test: (found, wanted) => matches(wanted, found) },
  ArnLike: { test: (found, wanted) => matches(wanted, found) },
  Bool: { test: (found, wanted) => found.toLowerCase() === wanted.toLowerCase() },
};

/** IAM's patterns: `*` is any text, `?` any character. */
export function matches(pattern: string, text: string): boolean {
  const escaped = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^]*')
    .replaceAll('?', '[^]');
  return new RegExp(`^${escaped}$`).test(text);
}

/**
 * Whether one key of a condition block holds. A key that the request has not fails, but for `...IfExists`, `ForAllValues:` and negated
 * operators. Throws for an operator that is not known: a policy is not to be decided by half.
 */
export function holds(operator: string, key: string, wanted: readonly string[], context: Context): boolean {
  const values = valuesOf(key, context);
  if (operator === 'Null') return (values === undefined) === (wanted[0] === 'true');
  const [, quantifier, name = '', ifExists] =
    /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(operator) ?? [];
  const known = Object.hasOwn(tests, name) ? tests[name] : undefined;
  if (known === undefined) throw new Error(`The local cloud knows no condition operator ${operator}.`);
  const { test, negated = false } = known;
  if (values === undefined) return ifExists !== undefined || quantifier === 'ForAllValues' || negated;
  const passes = (value: string): boolean => wanted.some((each) => test(value, each)) !== negated;
  return quantifier === 'ForAllValues' || (negated && quantifier === undefined)
    ? values.every(passes)
    : values.some(passes);
}

/** Names of condition keys have no case. */
function valuesOf(key: string, context: Context): readonly string[] | undefined {
  const name = Object.keys(context).find((each) => each.toLowerCase() === key.toLowerCase());
  const value = name === undefined ? undefined : context[name];
  return typeof value === 'string' ? [value] : value;
}
