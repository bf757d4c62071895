export function versionProblem(version: string, before: string): string | undefined;
export function notesOf(changelog: string, title: string): string | undefined;
export function releasedChangelog(changelog: string, version: string, date: string): string;
export function versionedPackage(text: string, version: string): string;
export function versionedChart(text: string, version: string): string;
export function pinnedValues(text: string, repository: string, digest: string): string;
export function krewManifest(of: { version: string; repository: string; sha256: string }): string;
