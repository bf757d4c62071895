export interface SourceMap {
  readonly version: number;
  readonly file: string;
  readonly sources: readonly string[];
  readonly names: readonly string[];
  readonly mappings: string;
}

export function linesOf(map: SourceMap): SourceMap;
