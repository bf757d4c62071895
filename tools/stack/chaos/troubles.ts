import type { Random } from '../../../test/cases/random.js';
import type { Stage } from '../stage.js';
import type { Weather } from '../network/tcp-proxy.js';
import { mortal, type Surroundings } from './surroundings.js';

/** Who chaos is done to. */
export interface ChaosStage extends Stage {
  readonly surroundings: Surroundings;
}

/** Seconds that a trouble lasts, as milliseconds. */
const some = (random: Random, from: number, to: number): number => random.int(from, to) * 1000;
const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

export async function killReplica({ surroundings }: ChaosStage, random: Random): Promise<string | undefined> {
  const running = surroundings.replicas.filter((replica) => replica.isRunning);
  if (running.length === 0) return undefined;
  const replica = random.pick(running);
  const ms = some(random, 0, 20);
  await surroundings.kill(replica, ms);
  return `${replica.name} killed, back after ${seconds(ms)}`;
}

export function freezeReplica({ surroundings }: ChaosStage, random: Random): Promise<string | undefined> {
  const replica = random.pick(surroundings.replicas);
  const ms = some(random, 2, 30);
  surroundings.freeze(replica, ms);
  return Promise.resolve(`${replica.name} frozen for ${seconds(ms)}`);
}

export async function killPart({ surroundings }: ChaosStage, random: Random): Promise<string> {
  const part = random.pick(mortal);
  const ms = some(random, 0, 10);
  await surroundings.killPart(part, ms);
  return `${part} killed, back after ${seconds(ms)}`;
}

export function freezePart({ surroundings }: ChaosStage, random: Random): Promise<string> {
  const part = random.pick(mortal);
  const ms = some(random, 2, 20);
  surroundings.freezePart(part, ms);
  return Promise.resolve(`${part} frozen for ${seconds(ms)}`);
}

export function changeWeather({ surroundings }: ChaosStage, random: Random): Promise<string> {
  const peer = random.pick(surroundings.peers);
  const ms = some(random, 2, 20);
  const weather = random.pick<Weather>([
    { kind: 'cut' },
    { kind: 'silent' },
    { kind: 'slow', delayMs: random.int(50, 1500) },
  ]);
  surroundings.weather(peer, weather, ms);
  return Promise.resolve(`the network to ${peer} is ${weather.kind} for ${seconds(ms)}`);
}

export function strand({ surroundings }: ChaosStage, random: Random): Promise<string> {
  const peer = random.pick(surroundings.peers);
  surroundings.strand(peer);
  return Promise.resolve(`connections to ${peer} fall silent for good`);
}

export async function exhaust({ cloud }: ChaosStage, random: Random): Promise<string> {
  const rule = random.pick([{ capacityType: 'spot' as const }, { zone: 'us-west-2a' }, { instanceType: 'c*' }]);
  await cloud.setPools([rule]);
  return `no capacity any more: ${JSON.stringify(rule)}`;
}

export async function replenish({ cloud }: ChaosStage): Promise<string> {
  await cloud.setPools([]);
  return 'there is capacity again';
}
