import { FieldError } from '../objects/check.js';
import type { Fields } from './fields.js';
import { lookUp } from '../../core/own.js';

type Tags = Record<string, string>;

const mostTerms = 30;
const idKeys = ['aws-ids', 'aws::ids'];

const split = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** All combinations of one value for each key: old selectors separate alternatives by commas. */
function combinations(tags: Tags, field: string): Tags[] {
  let all: Tags[] = [{}];
  for (const [key, value] of Object.entries(tags)) {
    // An empty value matched the key with any value.
    const values = value.trim() === '' ? ['*'] : split(value);
    all = all.flatMap((chosen) => values.map((one) => ({ ...chosen, [key]: one })));
    if (all.length > mostTerms) throw new FieldError(field, `at most ${mostTerms} combinations of values`, tags);
  }
  return all;
}

function byIds(selector: Tags): { readonly ids: readonly string[]; readonly tags: Tags } {
  const ids = idKeys.flatMap((key) => split(lookUp(selector, key) ?? ''));
  const tags = Object.fromEntries(Object.entries(selector).filter(([key]) => !idKeys.includes(key)));
  return { ids, tags };
}

/** Converts `subnetSelector` or `securityGroupSelector`, a map, to selector terms. */
export function tagSelectorTerms(owner: Fields, name: string): { id?: string; tags?: Tags }[] | undefined {
  const selector = owner.texts(name);
  if (selector === undefined) return undefined;
  const field = owner.at(name);
  const { ids, tags } = byIds(selector);
  owner.notes.changed(field, `becomes ${name}Terms`);
  if (ids.length === 0) return combinations(tags, field).map((chosen) => ({ tags: chosen }));
  reportDropped(owner, field, ids, tags);
  return ids.map((id) => ({ id }));
}

function reportDropped(owner: Fields, field: string, ids: readonly string[], others: Tags): void {
  const dropped = Object.keys(others).join(', ');
  if (ids.length > 0 && dropped !== '') owner.notes.lost(field, `the ids decide, ${dropped} is dropped`);
}

/** Converts `amiSelector`, a map, to selector terms; undefined if it is empty. */
export function convertAmiSelectorTerms(
  owner: Fields,
  name = 'amiSelector',
): { id?: string; name?: string; owner?: string; tags?: Tags }[] | undefined {
  const selector = owner.texts(name);
  if (selector === undefined || Object.keys(selector).length === 0) return undefined;
  const field = owner.at(name);
  owner.notes.changed(field, 'becomes amiSelectorTerms');
  const { ids, tags: rest } = byIds(selector);
  reportDropped(owner, field, ids, rest);
  if (ids.length > 0) return ids.map((id) => ({ id }));
  const { 'aws::name': names = '', 'aws::owners': owners = '', ...tags } = rest;
  const places = split(owners).length === 0 ? [{}] : split(owners).map((one) => ({ owner: one }));
  const named = split(names).length === 0 ? [{}] : split(names).map((one) => ({ name: one }));
  const tagged = Object.keys(tags).length === 0 ? [{}] : combinations(tags, field).map((one) => ({ tags: one }));
  const terms = named.flatMap((each) =>
    places.flatMap((place) => tagged.map((tag) => ({ ...each, ...place, ...tag }))),
  );
  if (terms.length > mostTerms) throw new FieldError(field, `at most ${mostTerms} combinations of values`, selector);
  return terms;
}
