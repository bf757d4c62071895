export function closuresOf(texts: ReadonlyMap<string, string>): Map<string, string[]>;
