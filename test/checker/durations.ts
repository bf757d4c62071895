const unit: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

/** A duration such as `1h30m`. */
export const milliseconds = (text: string): number =>
  [...text.matchAll(/(\d+(?:\.\d+)?)([hms])/g)].reduce((sum, [, n, u]) => sum + Number(n) * unit[u!]!, 0);
