export interface Pin {
  readonly name: string;
  readonly url: string;
  readonly sha256: string;
  /** Of the tar archive that the URL gives; without one the URL gives the program itself. */
  readonly member?: string;
}
export function download(pin: Pin, bin: string): Promise<void>;
export function downloadOrCompile(options: {
  readonly pins: readonly Pin[] | undefined;
  readonly bin: string;
  step(title: string, run: () => Promise<void>): Promise<void>;
  say(line: string): void;
  compile(): Promise<void>;
}): Promise<'downloaded' | 'compiled'>;
