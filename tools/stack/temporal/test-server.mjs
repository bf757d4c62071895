// Temporal's time-skipping test server as a command that is up in half a second: the Java machine maps the classes from an
// archive, made when it is installed, and does not compile what runs for a minute as if it ran for days.
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const classArchive = 'classes.jsa';

/**
 * The command that starts the server, given the names of its jars. Paths are relative to the server's own folder: an
 * archive of classes holds for the class path that it was made with.
 */
export const testServerScript = (jars) =>
  [
    '#!/bin/sh',
    'cd "$(dirname "$0")" || exit 1',
    `[ -n "$ARCHIVE_CLASSES" ] || ARCHIVE_CLASSES=-XX:SharedArchiveFile=${classArchive}`,
    'exec java "$ARCHIVE_CLASSES" -Xshare:auto -Xlog:disable -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \\',
    `  -cp ${jars.map((jar) => `lib/${jar}`).join(':')} io.temporal.testserver.TestServer "$@"`,
    '',
  ].join('\n');

/** Lets the server come up once and keep what it loaded. Without an archive it starts more slowly, and works as well. */
export async function archiveClasses(folder, script) {
  const port = await freePort();
  const server = spawn(script, [String(port)], {
    stdio: 'ignore',
    env: { ...process.env, ARCHIVE_CLASSES: `-XX:ArchiveClassesAtExit=${classArchive}` },
  });
  const ended = new Promise((resolve) => server.once('close', resolve));
  server.once('error', () => undefined);
  const isUp = () =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  const patience = Date.now() + 60_000;
  while (server.exitCode === null && Date.now() < patience && !(await isUp())) await setTimeout(100);
  server.kill('SIGTERM');
  await ended;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
