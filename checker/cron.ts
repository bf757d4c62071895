/** A field of a schedule: `*`, numbers, ranges, lists and steps. */
function matches(field: string, value: number, least: number, most: number): boolean {
  return field.split(',').some((part) => {
    const [range = '*', step = '1'] = part.split('/');
    const [from = least, to = range === '*' || part.includes('/') ? most : undefined] =
      range === '*' ? [least, most] : range.split('-').map(Number);
    return value >= from && value <= (to ?? from) && (value - from) % Number(step) === 0;
  });
}

const minute = 60_000;

/** Whether a window of this length that begins at each hit of a five-field schedule (UTC) is open; looked at minute by minute. */
export function isWindowOpen(schedule: string, length: number, now: number): boolean {
  const [minutes = '*', hours = '*', days = '*', months = '*', weekdays = '*'] = schedule.trim().split(/\s+/);
  for (let at = Math.floor(now / minute) * minute; at > now - length; at -= minute) {
    const date = new Date(at);
    const day = matches(days, date.getUTCDate(), 1, 31);
    const weekday = matches(weekdays, date.getUTCDay(), 0, 6);
    // Where both are given one of them is enough.
    const isDay = days === '*' || weekdays === '*' ? day && weekday : day || weekday;
    if (
      isDay &&
      matches(minutes, date.getUTCMinutes(), 0, 59) &&
      matches(hours, date.getUTCHours(), 0, 23) &&
      matches(months, date.getUTCMonth() + 1, 1, 12)
    ) {
      return true;
    }
  }
  return false;
}
