/** Everything that a paged call answers: `call` gets the token of the page, undefined for the first. */
export async function allPages<Page extends { NextToken?: string | undefined }, Item>(
  call: (token: string | undefined) => Promise<Page>,
  items: (page: Page) => readonly Item[] | undefined,
): Promise<Item[]> {
  const all: Item[] = [];
  let token: string | undefined;
  do {
    const page = await call(token);
    all.push(...(items(page) ?? []));
    token = page.NextToken === '' ? undefined : page.NextToken;
  } while (token !== undefined);
  return all;
}
