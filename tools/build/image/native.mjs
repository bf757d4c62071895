// Temporal's SDK has a native library for each platform in one package; an image has the one of its architecture.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** By Docker's names of architectures. */
const targets = { amd64: 'x86_64-unknown-linux-gnu', arm64: 'aarch64-unknown-linux-gnu' };
const ofNode = { x64: 'amd64', arm64: 'arm64' };

/**
 * The folder in the package `@temporalio/core-bridge` of the library for an architecture by Docker's name; that of `own`, by Node's name,
 * where it is empty. Throws for an architecture that images are not made for, and where the package lacks the library.
 */
export function nativeLibrary(bridge, arch, own = process.arch) {
  const wanted = arch || ofNode[own] || own;
  if (!Object.hasOwn(targets, wanted))
    throw new Error(`there is no image for the architecture ${wanted}: ${Object.keys(targets).join(' and ')} are made`);
  const folder = join('releases', targets[wanted]);
  if (!existsSync(join(bridge, folder))) throw new Error(`@temporalio/core-bridge has no library in ${folder}`);
  return folder;
}
