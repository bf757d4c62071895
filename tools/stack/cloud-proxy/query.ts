/** Parameters of a query-protocol request, with `A.1.B` unfolded: lists are objects with the keys 1, 2, 3 ... */
export interface Params {
  [name: string]: string | Params;
}

/** Unfolds a form-encoded body. */
export function parseQuery(body: string): Params {
  const root: Params = {};
  for (const [path, value] of new URLSearchParams(body)) {
    const steps = path.split('.');
    let at = root;
    for (const step of steps.slice(0, -1)) {
      const next = at[step];
      at = typeof next === 'object' ? next : (at[step] = {});
    }
    at[steps.at(-1)!] = value;
  }
  return root;
}

/** Folds parameters into a form-encoded body again. */
export function formatQuery(params: Params): string {
  const flat = new URLSearchParams();
  const walk = (prefix: string, value: string | Params): void => {
    if (typeof value === 'string') flat.append(prefix, value);
    else for (const [name, inner] of Object.entries(value)) walk(prefix === '' ? name : `${prefix}.${name}`, inner);
  };
  walk('', params);
  return flat.toString();
}

/** The structure at a path; an empty one when there is none. */
export function struct(params: Params | undefined, ...path: readonly string[]): Params {
  let found: string | Params | undefined = params;
  for (const step of path) found = typeof found === 'object' ? found[step] : undefined;
  return typeof found === 'object' ? found : {};
}

/** The text at a path. */
export function param(params: Params | undefined, ...path: readonly string[]): string | undefined {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  const value = struct(params, ...path.slice(0, -1))[last];
  return typeof value === 'string' ? value : undefined;
}

const inOrder = (list: Params): (string | Params)[] =>
  Object.keys(list)
    .sort((left, right) => Number(left) - Number(right))
    .map((key) => list[key]!);

/** The members of a list of structures. */
export const structs = (params: Params | undefined, ...path: readonly string[]): Params[] =>
  inOrder(struct(params, ...path)).filter((each): each is Params => typeof each === 'object');

/** The members of a list of texts. */
export const strings = (params: Params | undefined, ...path: readonly string[]): string[] =>
  inOrder(struct(params, ...path)).filter((each): each is string => typeof each === 'string');

/** A list of structures as parameters. */
export const listOf = (members: readonly (string | Params)[]): Params =>
  Object.fromEntries(members.map((member, index) => [String(index + 1), member]));

/** `Filter.N.Name` with `Filter.N.Value.M`, by name. */
export function filtersOf(params: Params): Map<string, string[]> {
  const filters = new Map<string, string[]>();
  for (const filter of structs(params, 'Filter')) filters.set(param(filter, 'Name') ?? '', strings(filter, 'Value'));
  return filters;
}

/** The parameters but for those named. */
export const without = (params: Params, ...names: readonly string[]): Params =>
  Object.fromEntries(Object.entries(params).filter(([name]) => !names.includes(name)));
