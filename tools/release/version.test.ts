import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import {
  krewManifest,
  notesOf,
  pinnedValues,
  releasedChangelog,
  versionedChart,
  versionedPackage,
  versionProblem,
} from './version.mjs';

const read = (name: string): string => readFileSync(name, 'utf8');

test.each([
  ['1.2.3', '1.2.2', undefined],
  ['1.10.0', '1.9.9', undefined],
  ['0.1.0', '', undefined],
  ['1.2.3', '1.2.3', /does not come after/],
  ['1.2.3', '1.10.0', /does not come after/],
  ['v1.2.3', '', /is no version/],
  ['1.2', '', /is no version/],
  ['1.02.3', '', /is no version/],
])('next version: %s after %s', (version, before, problem) => {
  const found = versionProblem(version, before);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

describe('the changelog at a release', () => {
  const text = '# Changelog\n\n## Unreleased\n\n### Added\n\n- a\n\n## 0.1.0 - 2026-01-01\n\n- b\n';

  test('gives the unreleased entries to the version, and begins a new section', () => {
    const after = releasedChangelog(text, '0.2.0', '2026-02-01');

    expect(notesOf(after, 'Unreleased')).toBe('');
    expect(notesOf(after, '0.2.0')).toBe('### Added\n\n- a');
    expect(notesOf(after, '0.1.0')).toBe('- b');
    expect(notesOf(after, '0.1')).toBeUndefined();
  });

  test('of this repository has unreleased entries', () => {
    expect(notesOf(read('CHANGELOG.md'), 'Unreleased')).toMatch(/^### /);
  });
});

test('a release writes its version everywhere, and changes nothing else', () => {
  for (const name of ['package.json', 'package-lock.json']) {
    const { version } = JSON.parse(read(name)) as { version: string };
    expect(versionedPackage(read(name), version)).toBe(read(name));
    expect(JSON.parse(versionedPackage(read(name), '9.8.7'))).toMatchObject({ name: 'stowage', version: '9.8.7' });
  }
  const lock = JSON.parse(versionedPackage(read('package-lock.json'), '9.8.7')) as {
    packages: Record<string, { version: string }>;
  };
  expect(lock.packages['']?.version).toBe('9.8.7');
  const chart = read('deploy/chart/Chart.yaml');
  expect(parse(versionedChart(chart, '9.8.7'))).toEqual({ ...parse(chart), version: '9.8.7', appVersion: '9.8.7' });
});

describe("the image in the chart's values at a release", () => {
  const values = read('deploy/chart/values.yaml');
  const digest = `sha256:${'a'.repeat(64)}`;

  test('is the released one', () => {
    const before = parse(values) as { image: object };
    const image = { ...before.image, repository: 'ghcr.io/o/stowage', digest };

    expect(parse(pinnedValues(values, 'ghcr.io/o/stowage', digest))).toEqual({ ...before, image });
  });

  test('has a digest, where the values have a field for it', () => {
    expect(() => pinnedValues(values, 'r', 'latest')).toThrow(/is no digest/);
    expect(() => pinnedValues('image: {}\n', 'r', digest)).toThrow(/no image\.repository/);
  });
});

test("the krew manifest has the release's archives for Linux and macOS, with their checksums", () => {
  const sha256 = 'ab'.repeat(32);
  const manifest: unknown = parse(krewManifest({ version: '1.2.3', repository: 'owner/stowage', sha256 }));

  expect(manifest).toMatchObject({
    kind: 'Plugin',
    metadata: { name: 'stowage' },
    spec: {
      version: 'v1.2.3',
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
          uri: 'https://github.com/owner/stowage/releases/download/v1.2.3/stowage-1.2.3.tar.gz',
          sha256,
          bin: 'stowage.mjs',
        },
      ],
    },
  });
  expect(() => krewManifest({ version: '1.2.3', repository: 'owner/stowage', sha256: 'abc' })).toThrow('no SHA-256');
});
