/** EC2 filters for tags that must all be there; the value `*` stands for any value. */
export function tagFilters(tags: Readonly<Record<string, string>> | undefined): { Name: string; Values: string[] }[] {
  return Object.entries(tags ?? {}).map(([key, value]) =>
    value === '*' ? { Name: 'tag-key', Values: [key] } : { Name: `tag:${key}`, Values: [value] },
  );
}
