import { onOneLine, counted } from '../../core/text.js';
import type { CheckResult, CheckState } from '../doctor/check.js';

const states: readonly CheckState[] = ['failed', 'warning', 'skipped', 'ok'];
const width = Math.max(...states.map((state) => state.length)) + 2;

/** The checks one after the other, each with finding and fix; then the counts by result. */
export function doctorText(given: readonly CheckResult[]): string {
  const results = onOneLine(given);
  const lines = results.flatMap(({ name, state, found, mend }) => [
    `${state.padEnd(width)}${name}: ${found}`,
    ...(mend === '' ? [] : [`${' '.repeat(width)}fix: ${mend}`]),
  ]);
  const counts = states.map((state) => [state, results.filter((each) => each.state === state).length] as const);
  const summary = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
  return `${lines.join('\n')}\n\n${counted(results.length, 'check')}: ${summary.join(', ')}.\n`;
}
