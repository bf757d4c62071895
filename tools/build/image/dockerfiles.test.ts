import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

// What both Dockerfiles have to be for the images to be pinned, and to be built for another architecture without emulating it.
const files = ['Dockerfile', 'tools/stack/Dockerfile'];
const basesOf = (text: string): (string | undefined)[] =>
  [...text.matchAll(/^ARG (?:BUILD|NODE)_IMAGE=.*$/gm)].map(([line]) => line);

describe.each(files)('%s', (file) => {
  const text = readFileSync(file, 'utf8');
  const stages = text.split(/^(?=FROM )/m).slice(1);

  test('names its base images by version and digest', () => {
    const pinned = /^ARG (BUILD|NODE)_IMAGE=node:\d+\.\d+\.\d+-bookworm(-slim)?@sha256:[0-9a-f]{64}$/;
    expect(basesOf(text)).toEqual([expect.stringMatching(pinned), expect.stringMatching(pinned)]);
  });

  test("runs programs on the builder's architecture alone", () => {
    const running = stages.filter((stage) => /^RUN /m.test(stage));
    expect(running.length).toBeGreaterThan(0);
    for (const stage of running) expect(stage).toMatch(/^FROM --platform=\$BUILDPLATFORM /);
    expect(stages.at(-1)).not.toMatch(/^RUN /m);
    expect(stages.at(-1)).toMatch(/^FROM \$\{NODE_IMAGE\}$/m);
  });
});

test('both Dockerfiles have the same bases, with the Node version of the install suite', () => {
  const [first, second] = files.map((file) => basesOf(readFileSync(file, 'utf8')));
  expect(second).toEqual(first);
  const [, version] =
    /^const nodeVersion = '(.*)';$/m.exec(readFileSync('tools/stack/container-parts.mjs', 'utf8')) ?? [];
  for (const base of first ?? []) expect(base).toContain(`=node:${version ?? 'none'}-`);
});
