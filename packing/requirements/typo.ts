/** The known label key that `key` was probably meant to be, or undefined (requirements/typo-hint). */
export function probableKey(key: string, known: Iterable<string>): string | undefined {
  const suffix = key.slice(key.lastIndexOf('/') + 1);
  let best: string | undefined;
  let least = Math.max(2, Math.floor(key.length / 10)) + 1;
  for (const candidate of [...known].sort()) {
    if (candidate === key) return undefined;
    const sameName = candidate.slice(candidate.lastIndexOf('/') + 1) === suffix;
    // At least this many letters have to be inserted or deleted.
    if (!sameName && Math.abs(key.length - candidate.length) >= least) continue;
    const distance = sameName ? 1 : editDistance(key, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

/** Number of letters to insert, delete, replace or swap that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? before[j - 2]! + 1 : Infinity;
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, substitution, swap));
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}
