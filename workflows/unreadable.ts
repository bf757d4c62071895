/** Stands for a payload that the payload converter cannot read. */
export class Unreadable {
  constructor(readonly why: string) {}
}

/** Why one of the arguments could not be decoded; undefined if all could. */
export function unreadableIn(args: readonly unknown[]): string | undefined {
  return args.find((each) => each instanceof Unreadable)?.why;
}
