/** Specs that Stowage does not pass, by title, with why it does otherwise. */
export const onPurpose: ReadonlyMap<string, string> = new Map<string, string>([]);
