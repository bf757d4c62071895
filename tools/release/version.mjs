// What a release changes, as functions of texts.
const semantic = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/** Whether `version` may follow `before`; says why not. */
export function versionProblem(version, before) {
  const [next, last] = [version, before].map((text) => semantic.exec(text)?.slice(1).map(Number));
  if (next === undefined) return `"${version}" is no version: three numbers such as 1.2.3 are`;
  if (last === undefined) return undefined;
  const at = next.findIndex((part, i) => part !== last[i]);
  return at >= 0 && next[at] > last[at] ? undefined : `${version} does not come after ${before}`;
}

/** What CHANGELOG.md says under a heading of the second level; undefined where it has none such. */
export function notesOf(changelog, title) {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => new RegExp(`^${title.replaceAll('.', '\\.')}(?= |\\n|$)`).test(section));
  return found?.slice(found.indexOf('\n') + 1).trim();
}

/** CHANGELOG.md with what was unreleased under the version. */
export function releasedChangelog(changelog, version, date) {
  return changelog.replace(/^## Unreleased\n/m, `## Unreleased\n\n## ${version} - ${date}\n`);
}

/** A manifest of npm with the version in it; a lock file has it twice. */
export function versionedPackage(text, version) {
  const manifest = JSON.parse(text);
  manifest.version = version;
  if (manifest.packages?.['']) manifest.packages[''].version = version;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

export const versionedChart = (text, version) =>
  text.replace(/^version: .*$/m, `version: ${version}`).replace(/^appVersion: .*$/m, `appVersion: ${version}`);

/** The chart's values with an image by digest: where it is, and exactly which one. */
export function pinnedValues(text, repository, digest) {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is no digest such as sha256:...`);
  const pinned = text
    .replace(/^( {2}repository: ).*$/m, `$1${repository}`)
    .replace(/^( {2}digest: ).*$/m, `$1${digest}`);
  if (!pinned.includes(`  repository: ${repository}\n`) || !pinned.includes(`  digest: ${digest}\n`)) {
    throw new Error('the values have no image.repository and image.digest');
  }
  return pinned;
}

/** The manifest by which `kubectl krew install stowage` gets the command: one archive, for it needs Node alone. */
export function krewManifest({ version, repository, sha256 }) {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`"${sha256}" is no SHA-256 in hexadecimal digits`);
  return `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: stowage
spec:
  version: v${version}
  homepage: https://github.com/${repository}
  shortDescription: Plan, explain and steer node autoscaling
  description: |
    Shows what Stowage plans, does and has done to the nodes of a cluster, and takes orders: pause, approve, reconsider.
    Without an installation, it plans nodes for the pods of any cluster.
  caveats: |
    Needs Node.js 20.19 or newer.
  platforms:
    - selector:
        matchExpressions:
          - { key: os, operator: In, values: [linux, darwin] }
      uri: https://github.com/${repository}/releases/download/v${version}/stowage-${version}.tar.gz
      sha256: ${sha256}
      bin: stowage.mjs
`;
}
