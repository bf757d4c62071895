import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Labels of `build_info`, named as in Karpenter. */
export interface BuildInfo {
  readonly version: string;
  readonly goversion: string;
  readonly goarch: string;
  readonly commit: string;
}

const goNames: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** The running build; the commit is `unknown`, since packages do not contain it. */
export function buildInfo(): BuildInfo {
  return {
    version: packageVersion(dirname(fileURLToPath(import.meta.url))),
    goversion: `node${process.version}`,
    goarch: goNames[process.arch] ?? process.arch,
    commit: 'unknown',
  };
}

/** From the nearest package.json above that has a version: the one in dist/ has none. */
function packageVersion(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: string };
    if (version !== undefined) return version;
  } catch {
    // There is no package.json in this folder.
  }
  const above = dirname(folder);
  return above === folder ? 'unknown' : packageVersion(above);
}
