import type { LoadHook } from 'node:module';

/** By piece of the engine's search: the file that it is in, and what is added to that file so that the piece does nothing. */
const pieces = {
  patterns: { file: 'packing/bins/patterns.js', code: 'PatternSearch.prototype.run = () => {};' },
  'value-correction': { file: 'packing/bins/value-correction.js', code: 'ValueCorrection.prototype.run = () => {};' },
  riding: { file: 'packing/bins/riding.js', code: 'ride = () => undefined;' },
  join: { file: 'packing/bins/join.js', code: 'joinBins = () => {};' },
  refine: { file: 'packing/refine/whole-search.js', code: 'searchWhole = () => {};' },
  'exact-search': { file: 'packing/refine/exact-search.js', code: 'searchExactly = () => false;' },
  neighbourhoods: { file: 'packing/refine/search.js', code: 'Search.prototype.run = () => {};' },
  exchanges: { file: 'packing/refine/exchanges.js', code: 'Exchanges.prototype.exchange = () => {};' },
  'join-nodes': { file: 'packing/refine/exchanges.js', code: 'Exchanges.prototype.join = () => {};' },
  'make-room': { file: 'packing/refine/exchanges.js', code: 'Exchanges.prototype.makeRoom = () => false;' },
  'whole-bins': { file: 'packing/bins/whole-bins.js', code: 'wholeBinsBound = () => 0;' },
} as const satisfies Readonly<Record<string, { readonly file: string; readonly code: string }>>;

export type Piece = keyof typeof pieces;

export const pieceNames = Object.keys(pieces) as Piece[];

/** Arguments for Node with which the pieces do nothing. */
export function withoutPieces(names: readonly Piece[]): string[] {
  if (names.length === 0) return [];
  const hook = new URL(`./without.js?${names.join()}`, import.meta.url).href;
  const code = `import { register } from 'node:module'; register(${JSON.stringify(hook)});`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

const off = (new URL(import.meta.url).search.slice(1).split(',') as Piece[]).filter((name) => name in pieces);

/** Node loads modules through this where the file is registered for it. */
export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  const added = off.filter((name) => url.endsWith(`/dist/${pieces[name].file}`)).map((name) => pieces[name].code);
  return added.length === 0
    ? loaded
    : { ...loaded, source: [Buffer.from((loaded.source ?? '') as Uint8Array).toString(), ...added].join('\n') };
};
