/** Something that is published: where, its checksum, and what of it goes where in the component's folder. */
export type Pin = {
  readonly url: string;
  /** Where the checksum was read. */
  readonly source: string;
} & ({ readonly sha256: string; readonly sha512?: never } | { readonly sha512: string; readonly sha256?: never }) &
  (
    | { /** Where the file goes. */ readonly to: string; readonly members?: never }
    | {
        /** Of the tar archive, and where each goes. */ readonly members: Readonly<Record<string, string>>;
        readonly to?: never;
      }
  );

/** By component, then by platform as Node names it, such as `linux-x64`; `every` is what all of them need besides. */
export type Pinned = Readonly<Record<string, Readonly<Record<string, readonly Pin[]>>>>;

export function download(pin: Pin, folder: string): Promise<void>;
export function pinsFor(pinned: Pinned, component: string, platform: string): readonly Pin[] | undefined;
export function downloadOrCompile(options: {
  readonly pins: readonly Pin[] | undefined;
  readonly folder: string;
  step(title: string, run: () => Promise<void>): Promise<void>;
  say(line: string): void;
  compile(): Promise<void>;
}): Promise<'downloaded' | 'compiled'>;
