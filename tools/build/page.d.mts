export function bundlePage(file: string): Promise<string[]>;
