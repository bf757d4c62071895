import { join } from 'node:path';
import { repositoryRoot } from '../../tools/stack/paths.js';
import type { Toolchain } from '../../tools/stack/toolchain.js';
import { buildStandIn, importNodeImages, startDocker } from './docker.js';
import { buildForeign, type ForeignImage } from './foreign-image.js';

/** Images of one version each, of the project's Dockerfile. */
export const versions = ['0.1.0-first', '0.1.0-second'] as const;
const temporalImage = 'temporalio/temporal:1.5.1';
export const sandboxImage = 'stowage-test/pause:1';

export interface BuiltImages {
  /** Of all images, for `ctr images import`. */
  readonly archive: string;
  /** Digests of the layers of the first version, and of a build of it that used nothing of the first. */
  readonly layers: readonly [first: readonly string[], again: readonly string[]];
  /** The image for arm64, built here. */
  readonly arm64: ForeignImage;
}

/**
 * Builds all images into an archive for `ctr images import`. The bases are replaced by images of the same names, from Debian's and npm's
 * packages, so that nothing is pulled.
 */
export async function buildImages(folder: string, tools: Partial<Toolchain>): Promise<BuiltImages> {
  const docker = await startDocker(folder);
  try {
    const bases = await importNodeImages(docker, tools.nodeImage ?? '');
    const build = async (version: string, tag: string, ...more: readonly string[]): Promise<readonly string[]> => {
      const given = Object.entries({ ...bases, VERSION: version }).flatMap(([name, value]) => [
        '--build-arg',
        `${name}=${value}`,
      ]);
      await docker.run(['build', '--network', 'host', ...given, ...more, '--tag', tag, repositoryRoot()]);
      const layers = await docker.run(['image', 'inspect', '--format', '{{json .RootFS.Layers}}', tag]);
      return JSON.parse(layers) as string[];
    };
    const first = await build(versions[0], `stowage:${versions[0]}`);
    const again = await build(versions[0], 'stowage:again', '--no-cache');
    await build(versions[1], `stowage:${versions[1]}`);
    const arm64 = await buildForeign(docker, folder, (tag, ...more) => build(versions[0], tag, ...more));
    await buildStandIn(docker, folder, {
      tag: temporalImage,
      files: { temporal: tools.temporal ?? '' },
      dockerfile: 'FROM node:24-bookworm-slim\nCOPY temporal /usr/local/bin/\n',
    });
    await buildStandIn(docker, folder, {
      tag: sandboxImage,
      files: { pause: tools.pause ?? '' },
      dockerfile: 'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n',
    });
    const archive = join(folder, 'images.tar');
    const all = [...versions.map((version) => `stowage:${version}`), temporalImage, sandboxImage];
    await docker.run(['save', '--output', archive, ...all]);
    return { archive, layers: [first, again], arm64 };
  } finally {
    await docker.stop();
  }
}
