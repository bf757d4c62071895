import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { buildStandIn, type Docker } from './docker.js';

/** What the ELF header has for arm64. */
export const aarch64 = 183;

export interface ForeignImage {
  /** What the image says of itself. */
  readonly architecture: string;
  /** Files that a processor runs, each with the machine it is for by its ELF header. */
  readonly programs: readonly { readonly path: string; readonly machine: number }[];
}

/** For arm64, over a base without programs: a build step that runs an arm64 program fails. */
export async function buildForeign(
  docker: Docker,
  folder: string,
  build: (tag: string, ...more: string[]) => Promise<unknown>,
): Promise<ForeignImage> {
  const base = 'stowage-test/arm64:1';
  await buildStandIn(docker, folder, {
    tag: base,
    platform: 'linux/arm64',
    files: { base: { text: 'arm64' } },
    dockerfile: 'FROM scratch\nCOPY base /base\n',
  });
  const tag = 'stowage:arm64';
  await build(tag, '--platform', 'linux/arm64', '--build-arg', `NODE_IMAGE=${base}`);
  const architecture = await docker.run(['image', 'inspect', '--format', '{{.Architecture}}', tag]);
  const container = (await docker.run(['create', '--platform', 'linux/arm64', tag])).trim();
  const files = join(folder, 'arm64');
  await docker.run(['cp', `${container}:/stowage`, files]);
  return { architecture: architecture.trim(), programs: programsIn(files) };
}

function programsIn(folder: string): ForeignImage['programs'] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const path = join(entry.parentPath, entry.name);
    const header = readFileSync(path).subarray(0, 20);
    const isElf = header.subarray(0, 4).equals(Buffer.from('\x7fELF', 'latin1'));
    return isElf ? [{ path: relative(folder, path), machine: header.readUInt16LE(18) }] : [];
  });
}
