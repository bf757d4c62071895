const macros: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const isAny = (field: string): boolean => /^[*?]/.test(field);

/** A field of a schedule: `*`, numbers or names of `names` from `least` on, ranges, lists and steps. */
function matches(field: string, value: number, least: number, most: number, names: readonly string[] = []): boolean {
  const numberOf = (text: string): number => {
    const named = names.indexOf(text.toLowerCase());
    return named < 0 ? Number(text) : least + named;
  };
  return field.split(',').some((part) => {
    const [range = '*', step = '1'] = part.split('/');
    const isWide = isAny(range);
    const [from = least, to = isWide || part.includes('/') ? most : undefined] = isWide
      ? [least, most]
      : range.split('-').map(numberOf);
    return value >= from && value <= (to ?? from) && (value - from) % Number(step) === 0;
  });
}

const minute = 60_000;

/** Whether a schedule of five fields hits this minute. */
function hits(
  [minutes = '*', hours = '*', days = '*', ofYear = '*', ofWeek = '*']: readonly string[],
  date: Date,
): boolean {
  const day = matches(days, date.getUTCDate(), 1, 31);
  const weekday = matches(ofWeek, date.getUTCDay(), 0, 6, weekdays);
  // Where both are given one of them is enough.
  const isDay = isAny(days) || isAny(ofWeek) ? day && weekday : day || weekday;
  return (
    isDay &&
    matches(minutes, date.getUTCMinutes(), 0, 59) &&
    matches(hours, date.getUTCHours(), 0, 23) &&
    matches(ofYear, date.getUTCMonth() + 1, 1, 12, months)
  );
}

/**
 * Whether a window of this length that begins at each hit of a schedule of five fields, or of a macro such as `@daily` (UTC), is
 * open; looked at minute by minute.
 */
export function isWindowOpen(schedule: string, length: number, now: number): boolean {
  const text = schedule.trim();
  const fields = (macros[text] ?? text).split(/\s+/);
  for (let at = Math.floor(now / minute) * minute; at > now - length; at -= minute)
    if (hits(fields, new Date(at))) return true;
  return false;
}
