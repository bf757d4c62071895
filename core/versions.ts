/** The numbers of a version: `v1.34.1-eks-1` gives `1.34.1`; undefined if there are none. */
export function versionIn(text: string): string | undefined {
  return /\d+\.\d+(\.\d+)?/.exec(text)?.[0];
}

/** Compares by number, part by part; a missing part counts as 0. */
export function isOlder(version: string, than: string): boolean {
  const [parts, limits] = [numbersOf(version), numbersOf(than)];
  for (let i = 0; i < 3; i++) {
    const [part = 0, limit = 0] = [parts[i], limits[i]];
    if (part !== limit) return part < limit;
  }
  return false;
}

const numbersOf = (version: string): number[] => version.split('.').map(Number);
