import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Labels of `build_info`, with Karpenter's names. */
export interface BuildInfo {
  readonly version: string;
  readonly goversion: string;
  readonly goarch: string;
  readonly commit: string;
}

const goNames: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** What runs here; `unknown` for the commit, which packages do not carry. */
export function buildInfo(): BuildInfo {
  return {
    version: packageVersion(dirname(fileURLToPath(import.meta.url))),
    goversion: `node${process.version}`,
    goarch: goNames[process.arch] ?? process.arch,
    commit: 'unknown',
  };
}

/** From the package.json next above that has a version: that of dist/ has none. */
function packageVersion(folder: string): string {
  try {
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: string };
    if (version !== undefined) return version;
  } catch {
    // No package.json here.
  }
  const above = dirname(folder);
  return above === folder ? 'unknown' : packageVersion(above);
}
