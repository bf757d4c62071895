/** Pairs of workflow types: the first starts the second. */
export function startsOf(folder: string): [string, string][];
export function chartOf(starts: readonly (readonly [string, string])[]): string;
