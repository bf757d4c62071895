/** Stands for a payload that the payload converter cannot read. */
export class Unreadable {
  constructor(readonly why: string) {}
}

/** Why one of the arguments cannot be read; undefined where all can. */
export function unreadableIn(args: readonly unknown[]): string | undefined {
  return args.find((each) => each instanceof Unreadable)?.why;
}
