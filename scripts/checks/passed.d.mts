export function keyOf(...texts: string[]): string;

export class Passed {
  constructor(name: string, folder?: string);

  has(key: string): boolean;

  add(keys: Iterable<string>): void;
}
