// Source maps that say lines alone, which is what stack traces need. Temporal's SDK keeps every segment of a map in every workflow thread.

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of one segment: five bits a digit, the lowest first; the lowest bit of all is the sign. */
function numbersOf(segment) {
  const numbers = [];
  let shift = 0;
  let value = 0;
  for (const digit of segment) {
    const bits = digits.indexOf(digit);
    if (bits === -1) throw new Error(`a source map's mappings have no character ${JSON.stringify(digit)}`);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    shift = 0;
    value = 0;
  }
  return numbers;
}

function segmentOf(numbers) {
  let segment = '';
  for (const number of numbers) {
    let rest = number < 0 ? (-number << 1) | 1 : number << 1;
    do {
      segment += digits[(rest & 31) | (rest > 31 ? 32 : 0)];
      rest >>>= 5;
    } while (rest > 0);
  }
  return segment;
}

/** A map with one segment for each run of code that is of one line of one source; without columns of sources, names and texts. */
export function linesOf({ version, file, sources, mappings }) {
  // The state after the last segment that was read, and the last that was written; columns restart with each line.
  let [source, line] = [0, 0];
  let [writtenSource, writtenLine] = [0, 0];
  const slim = mappings.split(';').map((row) => {
    let [column, writtenColumn] = [0, 0];
    let last;
    const kept = [];
    for (const [columns, sources = 0, lines = 0] of row.split(',').filter(Boolean).map(numbersOf)) {
      column += columns;
      source += sources;
      line += lines;
      if (last?.source === source && last.line === line) continue;
      last = { source, line };
      kept.push(segmentOf([column - writtenColumn, source - writtenSource, line - writtenLine, 0]));
      [writtenColumn, writtenSource, writtenLine] = [column, source, line];
    }
    return kept.join(',');
  });
  return { version, file, sources, names: [], mappings: slim.join(';') };
}
