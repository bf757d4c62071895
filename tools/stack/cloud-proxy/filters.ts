import { AwsError } from './aws-error.js';

/** The values that an object has under a filter's name; undefined when there is no such filter. */
export type FilterValues = (name: string) => readonly string[] | undefined;

const pattern = (value: string): RegExp =>
  new RegExp(
    `^${value
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
    's',
  );

/** Filter names as EC2 reads them: values are alternatives with `*` and `?`, all filters must hold. */
export function passes(filters: ReadonlyMap<string, readonly string[]>, valuesOf: FilterValues): boolean {
  for (const [name, wanted] of filters) {
    const values = valuesOf(name);
    if (values === undefined) throw new AwsError('InvalidParameterValue', `The filter '${name}' is invalid`);
    const holds = wanted.some((each) =>
      /[*?]/.test(each) ? values.some((value) => pattern(each).test(value)) : values.includes(each),
    );
    if (!holds) return false;
  }
  return true;
}

/** The values of `tag:KEY` and `tag-key`; undefined for other names. */
export function tagValues(name: string, tags: ReadonlyMap<string, string>): readonly string[] | undefined {
  if (name === 'tag-key') return [...tags.keys()];
  if (!name.startsWith('tag:')) return undefined;
  const value = tags.get(name.slice(4));
  return value === undefined ? [] : [value];
}
