import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { lookUp } from '../../../core/own.js';
import { valuesOf } from './described.js';
import type { Check } from './page.js';

const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, unknown>>;
};
const argumentsOf = new Set([...readFileSync('Dockerfile', 'utf8').matchAll(/^ARG (\w+)/gm)].map(([, name]) => name));
/** BuildKit's own. */
const predefined = new Set(['SOURCE_DATE_EPOCH']);

export const checkDocker: Check = (call, page) => {
  const [from = '', to = ''] = call.arguments;
  const [service = ''] = from.split(':');
  if (call.command === 'compose cp') page.files.add(to.replace(/^\.\//, ''));
  const unknown = valuesOf(call, '--build-arg')
    .map((value) => value.replace(/=[^]*/, ''))
    .filter((name) => !argumentsOf.has(name) && !predefined.has(name));
  return [
    call.command === 'compose cp' && lookUp(services, service) === undefined
      ? `docker-compose.yml has no service ${service}`
      : undefined,
    call.command.endsWith('build') && !existsSync(`${from}/Dockerfile`)
      ? `there is no Dockerfile in ${from}`
      : undefined,
    ...unknown.map((name) => `the Dockerfile has no argument ${name}`),
  ];
};
