import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import { encryptingCodec } from '../process/encryption/codec.js';
import { codecServer } from '../process/encryption/codec-server.js';
import { KeyRing } from '../process/encryption/key-ring.js';
import { SettingsError } from '../process/settings.js';
import { messageOf } from '../core/error-message.js';
import { UsageError } from './exit.js';
import { givenFlags, settingsCommand } from './settings-command.js';
import { print, warn } from './output/print.js';

const keysFile = 'TEMPORAL_PAYLOAD_KEYS_FILE';

export function codecServerCommand(): Command {
  return settingsCommand('codec-server', { only: /^TEMPORAL_PAYLOAD_KEYS_FILE$/ })
    .option('--address <address>', 'where to listen', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8088')
    .option('--origin <url>', 'of the Temporal UI, such as https://temporal.example.com: other pages get no answer')
    .option('--token-file <file>', 'file with the token that callers give; one is made up when absent');
}

/** `stowage codec-server`: decrypts payloads for the Temporal UI and its CLI until SIGTERM or SIGINT. */
export async function serveCodec(args: readonly string[]): Promise<string> {
  const command = codecServerCommand();
  command.parse(args, { from: 'user' });
  const flags = givenFlags(command);
  const file = flags['temporal-payload-keys-file'] ?? process.env[keysFile] ?? '';
  if (file === '') throw new UsageError(`${keysFile} (--temporal-payload-keys-file) is missing`);
  const made = flags['token-file'] === undefined;
  const token = made ? randomBytes(24).toString('base64url') : tokenIn(flags['token-file']!);
  const server = codecServer({ codec: encryptingCodec(ringOf(file)), token, origin: originOf(flags['origin']) });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new UsageError(messageOf(error))));
    server.listen(portOf(flags['port']!), flags['address'], resolve);
  });
  const { address, port, family } = server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  print(`listening on ${url}\ncodec endpoint for the Temporal UI: ${url}/${made ? token : 'TOKEN'}\n`);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return '';
}

function ringOf(file: string): KeyRing {
  try {
    return new KeyRing({
      file,
      now: () => performance.now(),
      onProblem: (problem) => warn(`stowage: ${problem}\n`),
    });
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error;
  }
}

const leastToken = 16;

function tokenIn(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`--token-file "${file}": ${messageOf(error)}`);
  }
  if (/^[\w.~-]+$/.test(token) && token.length >= leastToken) return token;
  throw new UsageError(
    `--token-file "${file}": it holds no token: at least ${leastToken} letters, digits, dots, dashes, underscores and tildes`,
  );
}

function originOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/') return url.origin;
  throw new UsageError(`--origin "${text}": it is no scheme and host, such as https://temporal.example.com`);
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port "${text}": it is no number from 0 to 65535`);
}
