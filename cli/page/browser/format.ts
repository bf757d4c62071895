import type { PageNode } from '../snapshot.js';

export const perHour = (dollars: number): string => `$${dollars.toFixed(dollars < 10 ? 3 : 2)}/h`;
export const perMonth = (dollars: number): string => `$${Math.round(dollars * 730).toLocaleString('en')}/month`;
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

/** `3 d 4 h`, `5 min`. */
export function ageText(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000);
  if (minutes < 1) return `${Math.floor(Math.max(0, ms) / 1000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `2026-11-30 02:00`; with 19 characters also the seconds. */
export const minuteText = (at: number | string, length = 16): string => {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? String(at) : time.toISOString().slice(0, length).replace('T', ' ');
};

/** A word of a shell command: the address may give any text as a name. */
export const shellWord = (word: string): string =>
  /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** `02:00`, with the date where it is not that of `now`. */
export const timeIn = (now: number, at: number, length = 16): string => {
  const text = minuteText(at, length);
  return text.slice(0, 10) === minuteText(now, 10) ? text.slice(11) : text.slice(5);
};
export const cores = (millicores: number): string => (millicores / 1000).toFixed(millicores % 1000 === 0 ? 0 : 1);
export const gibibytes = (mib: number): string => `${(mib / 1024).toFixed(1)} Gi`;

export function used({ daemons, pods }: PageNode): readonly [number, number, number] {
  const sum: [number, number, number] = [...daemons];
  for (const [, times, ...size] of pods) for (let d = 0; d < 3; d++) sum[d]! += times * size[d]!;
  return sum;
}

export const podsOn = ({ pods }: PageNode): number => pods.reduce((sum, [, times]) => sum + times, 0);

/** Rows with a header as CSV. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number): string => {
    const text = typeof value === 'string' && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join()).join('\n')}\n`;
}
