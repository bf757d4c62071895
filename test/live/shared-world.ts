import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { messageOf } from '../../core/error-message.js';
import { signal } from '../../tools/stack/processes.js';
import { readState } from '../../tools/stack/stack-state.js';
import { stopStack } from '../../tools/stack/stop-stack.js';
import { cleanWorld } from './clean-world.js';
import { openWorld, type LiveWorld } from './world.js';

/*
 * Worlds that test files pass on. A start of a stack with its Stowage costs ten seconds of a processor, and the first of everything that Stowage does about
 * as much again; to clean up costs two. A file takes a world that an earlier one has left, also in another process, and cleans it before it begins; where that
 * does not come to an end, or none is left, it gets a new one. It leaves its world to others where all of its tests passed.
 * shared-worlds.ts names the folder of the run's worlds, and ends those that are left over.
 */

const folderOfRun = (): string => {
  const folder = process.env.STOWAGE_TEST_WORLDS;
  if (folder === undefined) throw new Error('STOWAGE_TEST_WORLDS is missing: shared-worlds.ts sets it for a project.');
  return folder;
};

/** Has an empty file for each unused world; the process that removes it has the world. */
const unused = (): string => {
  const folder = join(folderOfRun(), 'unused');
  mkdirSync(folder, { recursive: true });
  return folder;
};

/** A world for the tests of a file, between the hooks that this sets; `prepare` makes what they begin with. */
export function onSharedWorld(prepare: (world: LiveWorld) => Promise<void> | void): void {
  let world: LiveWorld | undefined;
  let isFit = false;
  beforeAll(async () => {
    world = (await leftWorld()) ?? (await newWorld());
    await prepare(world);
    isFit = !isRecorded();
  });
  afterAll(async () => {
    if (isFit && !hasFailures()) await leaveToOthers(world!);
    else await world?.stop();
  });
}

/** Whether a test of this file has failed so far (test/jest/setup.mjs). */
const hasFailures = (): boolean => (expect.getState() as { hasFailures?: boolean }).hasFailures === true;

function newWorld(): Promise<LiveWorld> {
  return openWorld(mkdtempSync(join(folderOfRun(), 'world-')), 'shared');
}

/** One that others have left, clean; undefined where there is none. */
async function leftWorld(): Promise<LiveWorld | undefined> {
  for (const name of readdirSync(unused())) {
    if (!take(name)) continue;
    const folder = join(folderOfRun(), name);
    try {
      return await enter(folder);
    } catch (error) {
      console.warn(`A new world is started, for that of an earlier file cannot be used: ${messageOf(error)}`);
      await stopStack(folder);
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return undefined;
}

function take(name: string): boolean {
  try {
    rmSync(join(unused(), name));
    return true;
  } catch {
    // Another file was quicker.
    return false;
  }
}

async function enter(folder: string): Promise<LiveWorld> {
  for (const component of readState(folder)?.components ?? []) signal(component, 'SIGCONT');
  const world = await openWorld(folder, 'shared');
  try {
    await cleanWorld(world);
    return world;
  } catch (error) {
    await world.leave();
    throw error;
  }
}

async function leaveToOthers(world: LiveWorld): Promise<void> {
  await world.leave();
  writeFileSync(join(unused(), basename(world.stack.folder)), '');
}

/** For test/replay: what a world played is kept when it stops. */
const isRecorded = (): boolean => process.env.RECORD_HISTORIES !== undefined;
