import { DomainError } from '../../core/failures.js';
import type { IamAction } from './iam-policy.js';

/** More pages than any AWS list has: the longest, spot prices, has some fifty. */
const mostPages = 10_000;

/**
 * All items of a paged call; `call` gets the token of the page, undefined for the first. Throws `DomainError` of type
 * Unavailable if the pages do not end: a repeated token, or too many pages.
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
      throw new DomainError('Unavailable', `${action}: the response has no last page, after ${tokens.size + 1} pages`);
    }
    tokens.add(token);
  }
}
