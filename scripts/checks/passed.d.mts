export function keyOf(...texts: string[]): string;

export class Passed {
  constructor(name: string, folder?: string);

  has(key: string): boolean;

  add(keys: Iterable<string>): void;
}

export function checkUnknown(
  name: string,
  keys: ReadonlyMap<string, string>,
  check: (files: string[]) => Iterable<string> | Promise<Iterable<string>>,
): Promise<boolean>;
