import { DomainError } from '../../core/failures.js';
import type { IamAction } from './iam-actions.js';

/** A list of so many pages is none of AWS': the largest, spot prices, has some fifty. */
const mostPages = 10_000;

/**
 * Everything that a paged call answers: `call` gets the token of the page, undefined for the first. Throws `DomainError` of type
 * Unavailable where the pages do not end: a token that was given before, or too many of them.
 */
export async function allPages<Page extends { NextToken?: string | undefined }, Item>(
  action: IamAction,
  call: (token: string | undefined) => Promise<Page>,
  items: (page: Page) => readonly Item[] | undefined,
): Promise<Item[]> {
  const all: Item[] = [];
  const tokens = new Set<string>();
  let token: string | undefined;
  for (;;) {
    const page = await call(token);
    for (const item of items(page) ?? []) all.push(item);
    token = page.NextToken === '' ? undefined : page.NextToken;
    if (token === undefined) return all;
    if (tokens.has(token) || tokens.size === mostPages) {
      throw new DomainError('Unavailable', `${action}: the pages do not end, after ${tokens.size + 1} of them`);
    }
    tokens.add(token);
  }
}
