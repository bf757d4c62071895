import Table from 'cli-table3';
import { onOneLine } from '../../core/text.js';

const plain = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** A table as in `kubectl get`: a heading, then one line per row. Numbers are right-aligned. */
export function renderTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const table = new Table({
    head: [...head],
    chars: plain,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 1 },
    colAligns: head.map((_name, column) =>
      rows.length > 0 && rows.every((row) => typeof row[column] === 'number') ? 'right' : 'left',
    ),
  });
  table.push(...rows.map((row) => row.map((cell) => onOneLine(String(cell)))));
  return table.toString().replace(/[ \t]+$/gm, '');
}

/** An hourly price with four digits: prices below one cent per hour are common. */
export function hourly(price: number): string {
  return `$${price.toFixed(4)}`;
}
