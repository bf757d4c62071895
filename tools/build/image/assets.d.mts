export function assetsOf(root: string, inputs: readonly string[]): { name: string; path: string }[];
