import { beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';
import { plainWorkflowCalls, pureShapes, sdkModules, withoutLanguages, withoutUrlTables } from './lean.mjs';

/** A program of these lines in one file, as images have it, with what went into the file by its path. */
async function bundled(
  lines: readonly string[],
  plugins: Plugin[],
): Promise<{ text: string; files: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: process.cwd() },
    bundle: true,
    write: false,
    metafile: true,
    outdir: 'out',
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifyWhitespace: true,
    minifySyntax: true,
    plugins,
  });
  const inputs = Object.values(metafile.outputs).flatMap((each) => Object.entries(each.inputs));
  return {
    text: outputFiles[0]!.text,
    files: inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  };
}

describe('the AWS SDK in the bundle', () => {
  const program = [
    `import { DescribeSubnetsCommand, EC2Client } from '@aws-sdk/client-ec2';`,
    `new EC2Client({}).send(new DescribeSubnetsCommand({}));`,
  ];
  let lean: Awaited<ReturnType<typeof bundled>>;
  beforeAll(async () => {
    lean = await bundled(program, [pureShapes, sdkModules]);
  });

  test("has only its ES modules, since both forms would not know each other's errors", () => {
    const sdk = lean.files.filter((path) => /node_modules\/@(aws-sdk|smithy)\/.*\.js$/.test(path));
    expect(sdk.length).toBeGreaterThan(20);
    expect(sdk.filter((path) => !path.includes('/dist-es/'))).toEqual([]);
  });

  test('has the used commands with their shapes, and no others', () => {
    expect(lean.text).toContain('DescribeSubnets');
    expect(lean.text).toContain('MapPublicIpOnLaunch');
    expect(lean.text).not.toContain('DescribeTransitGateways');
    expect(lean.text).not.toContain('TransitGatewayAttachmentId');
  });

  test('is larger by all other shapes where these are not declared pure', async () => {
    const { text } = await bundled(program, [sdkModules]);
    expect(text).toContain('TransitGatewayAttachmentId');
    expect(text.length).toBeGreaterThan(2 * lean.text.length);
  });
});

test("the bundle has zod's English messages alone", async () => {
  const program = [`import { z } from 'zod';`, `console.log(z.string().safeParse(1).error.message);`];
  const { files } = await bundled(program, [withoutLanguages]);
  expect(files.filter((path) => /\/zod\/v4\/locales\/(?!index)/.test(path))).toEqual([
    'node_modules/zod/v4/locales/en.js',
  ]);
});

test('the bundle uses the URL of Node for packages of both forms', async () => {
  const program = [`import { URL as Own } from 'whatwg-url';`, `export default [Own, require('whatwg-url').URL];`];
  const { text, files } = await bundled(program, [withoutUrlTables]);
  expect(files.filter((path) => path.includes('node_modules'))).toEqual([]);
  const { default: classes } = (await import(
    `data:text/javascript;base64,${Buffer.from(text).toString('base64')}`
  )) as { default: unknown };
  expect(classes).toEqual([URL, URL]);
});

test('workflow threads call workflows without a thread that watches the time, and record no stack of each promise', async () => {
  const program = [`import '@temporalio/worker/lib/workflow/workflow-worker-thread.js';`];
  const isWatched = ({ text }: { text: string }) => [
    /callIntoVmScript\.runInContext\(context,\s*\{\s*timeout/.test(text),
    text.includes('this.setPromiseHook()'),
  ];
  expect(isWatched(await bundled(program, []))).toEqual([true, true]);
  expect(isWatched(await bundled(program, [plainWorkflowCalls]))).toEqual([false, false]);
});
