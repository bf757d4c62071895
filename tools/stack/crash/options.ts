export interface MatrixOptions {
  /** Names of scenarios; default all. */
  readonly scenarios?: readonly string[];
  /** Lanes of each. */
  readonly lanes: number;
  /** Ends when so many points were reached and every scenario was played through. */
  readonly points: number;
  readonly withinMs: number;
  readonly report: (line: string) => void;
}
