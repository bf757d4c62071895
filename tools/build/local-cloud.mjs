// node tools/build/local-cloud.mjs FOLDER: writes all that the image of the local cloud holds (tools/stack/Dockerfile), ready to run with Node alone:
// the cloud proxy, the node joiner, and what prepares them for docker-compose.yml.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { copyAssets } from './image/assets.mjs';
import { bundlePrograms } from './image/bundle.mjs';
import { root } from '../root.mjs';

const programs = Object.fromEntries(
  ['compose', 'cloud-proxy', 'node-joiner'].map((name) => [name, join(root, 'tools/stack', name, 'main.ts')]),
);

const [given] = process.argv.slice(2);
if (given === undefined) throw new Error('Usage: node tools/build/local-cloud.mjs FOLDER');
const folder = resolve(given);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
copyAssets(root, await bundlePrograms(root, folder, programs), folder);
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, type: 'module' })}\n`);
