export function digestOf(root: string, files: readonly string[]): string;
