import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsError, errorReply, type Reply } from './aws-error.js';
import { type Called, calledBy } from './called.js';
import type { Cloud } from './cloud.js';
import { controlReply } from './control-server.js';
import { ec2Handlers } from './ec2.js';
import type { Fault } from './faults.js';
import { isUnimplemented, notImplemented } from './moto.js';
import { stowageKey } from './permissions/authority.js';
import { param, type Params, struct, structs } from './query.js';
import type { LoggedRequest } from './request-log.js';
import type { ExperimentTemplate, Settings } from './settings.js';
import { eksReply, jsonHandlers, managedResource, restReply } from './services.js';
import { child, formatXml, parseXml, textOf } from './xml.js';
import { messageOf } from '../../../core/error-message.js';
import { interruptSpot } from './reclaim.js';

/** As EC2 documents them. */
const most = { configs: 50, overrides: 300, tags: 50, keyLength: 128, valueLength: 256, userDataBytes: 16_384 };

/** Throws EC2's error for a request that has more of something than EC2 takes. */
export function refuseTooMuch(action: string, params: Params): void {
  if (action === 'CreateFleet') refuseFleet(structs(params, 'LaunchTemplateConfigs'));
  const data = struct(params, 'LaunchTemplateData');
  refuseUserData(param(action === 'CreateLaunchTemplate' ? data : params, 'UserData'));
  const specifications = [...structs(params, 'TagSpecification'), ...structs(data, 'TagSpecification')];
  for (const tags of [structs(params, 'Tag'), ...specifications.map((each) => structs(each, 'Tag'))]) refuseTags(tags);
}

function refuseFleet(configs: readonly Params[]): void {
  if (configs.length > most.configs) {
    throw invalid(`The number of LaunchTemplateConfigs (${configs.length}) exceeds the limit of ${most.configs}.`);
  }
  const overrides = configs.reduce((sum, config) => sum + structs(config, 'Overrides').length, 0);
  if (overrides > most.overrides)
    throw invalid(`The number of Overrides (${overrides}) exceeds the limit of ${most.overrides}.`);
}

function refuseUserData(encoded: string | undefined): void {
  if (encoded === undefined || Buffer.from(encoded, 'base64').length <= most.userDataBytes) return;
  throw new AwsError('InvalidUserData.Malformed', `User data is limited to ${most.userDataBytes} bytes`);
}

function refuseTags(tags: readonly Params[]): void {
  if (tags.length > most.tags) {
    throw new AwsError('TagLimitExceeded', `You may specify at most ${most.tags} tags for a resource.`);
  }
  for (const tag of tags) {
    const [key = '', value = ''] = [param(tag, 'Key'), param(tag, 'Value')];
    if (key.toLowerCase().startsWith('aws:'))
      throw invalid("Tag keys starting with 'aws:' are reserved for internal use");
    if (key.length > most.keyLength || key === '')
      throw invalid(`Tag key exceeds the maximum length of ${most.keyLength} characters`);
    if (value.length > most.valueLength)
      throw invalid(`Tag value exceeds the maximum length of ${most.valueLength} characters`);
  }
}

const invalid = (message: string): AwsError => new AwsError('InvalidParameterValue', message);

const changing = new Set(['CreateInstanceProfile', 'AddRoleToInstanceProfile']);

/** Corrects moto's IAM answers (ListInstanceProfiles keeps to its PathPrefix), and takes note of new profiles. */
function iamReply(cloud: Cloud, action: string, params: Params, reply: Reply): Reply {
  if (changing.has(action) && reply.status === 200) cloud.profiles.changed(param(params, 'InstanceProfileName') ?? '');
  const prefix = param(params, 'PathPrefix');
  if (action !== 'ListInstanceProfiles' || prefix === undefined || reply.status !== 200) return reply;
  const answer = parseXml(reply.body.toString());
  const list = child(answer, 'ListInstanceProfilesResult', 'InstanceProfiles');
  if (list !== undefined) {
    list.children = list.children.filter((profile) => textOf(profile, 'Path')?.startsWith(prefix) === true);
  }
  return { ...reply, body: formatXml(answer) };
}

const interruptions = 'aws:ec2:send-spot-instance-interruptions';
/** From the warning to the end, as EC2 has it. */
const noticeMs = 120_000;

/** Answers a call of FIS; undefined: it is not played. */
export function experiments(cloud: Cloud, method: string, path: string, body: string): object | undefined {
  const [, kind, id] = path.split('?')[0]!.split('/');
  if (kind === 'experimentTemplates' && method === 'POST') return createTemplate(cloud, body);
  if (kind === 'experimentTemplates' && method === 'DELETE' && id !== undefined) return deleteTemplate(cloud, id);
  if (kind === 'experiments' && method === 'POST') return start(cloud, body);
  return undefined;
}

function createTemplate(cloud: Cloud, body: string): object {
  const template = JSON.parse(body) as ExperimentTemplate;
  const id = `EXT${randomUUID().slice(0, 13)}`;
  cloud.experimentTemplates.set(id, template);
  return { experimentTemplate: { id, ...template } };
}

function deleteTemplate(cloud: Cloud, id: string): object {
  requireTemplate(cloud, id);
  cloud.experimentTemplates.delete(id);
  return { experimentTemplate: { id } };
}

function start(cloud: Cloud, body: string): object {
  const { experimentTemplateId = '' } = JSON.parse(body) as { experimentTemplateId?: string };
  const { actions = {}, targets = {} } = requireTemplate(cloud, experimentTemplateId);
  for (const { actionId = '', targets: named = {} } of Object.values(actions)) {
    if (actionId !== interruptions) {
      throw new AwsError('ValidationException', `The local cloud does not play the action ${actionId}.`);
    }
    const arns = Object.values(named).flatMap((name) => targets[name]?.resourceArns ?? []);
    const ids = arns.map((arn) => arn.split('/').at(-1)!);
    for (const { id } of cloud.instances.require(ids)) interruptSpot(cloud, id, noticeMs);
  }
  return { experiment: { id: `EXP${randomUUID().slice(0, 13)}`, experimentTemplateId, state: { status: 'running' } } };
}

function requireTemplate(cloud: Cloud, id: string): ExperimentTemplate {
  const template = cloud.experimentTemplates.get(id);
  if (template === undefined)
    throw new AwsError('ResourceNotFoundException', `Experiment template ${id} not found.`, 404);
  return template;
}

/** A request, taken apart. */
interface Call extends Called {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Of the credentials that it was signed with. */
  accessKey: string;
  region: string;
  /** Whether it came through the HTTP proxy. */
  tunnelled: boolean;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && name !== 'connection' && name !== 'content-length') headers[name] = value;
  }
  return headers;
}

function callOf(request: IncomingMessage, body: Buffer, tunnelled: boolean): Call {
  const headers = headersOf(request);
  const { url: path = '/', method = 'GET' } = request;
  const signed = /Credential=([^/]+)\/\d+\/([^/]+)\/([^/]+)\//.exec(headers['authorization'] ?? '');
  const [, accessKey = '', region = '', service = 'unknown'] = signed ?? [];
  const called = calledBy({ method, path, headers, body: body.toString() }, service);
  return { ...called, method, path, headers, body, accessKey, region, tunnelled };
}

/** As a recording has it where one is played to Stowage, else as this cloud has it. */
function answer(cloud: Cloud, call: Call, signal: AbortSignal): Promise<Reply> {
  const recorded = call.accessKey === stowageKey ? cloud.replay?.answer(call) : undefined;
  return recorded === undefined ? ownAnswer(cloud, call, signal) : Promise.resolve(recorded);
}

async function ownAnswer(cloud: Cloud, call: Call, signal: AbortSignal): Promise<Reply> {
  const { service, action, protocol, params, accessKey, region } = call;
  const refused = await cloud.authority.admit({ service, action, params, region }, accessKey, protocol);
  if (protocol === 'ec2') {
    refuseTooMuch(action, params as Params);
    const handler = ec2Handlers[action];
    if (handler !== undefined) {
      const body = `<?xml version="1.0" encoding="UTF-8"?>${formatXml(await handler(cloud, params as Params, refused))}`;
      return { status: 200, headers: { 'content-type': 'text/xml;charset=UTF-8' }, body };
    }
  }
  if (service === 'sqs' && protocol === 'json') {
    const host = `${call.tunnelled ? 'https' : 'http'}://${call.headers['host'] ?? ''}`;
    const found = await cloud.sqs.answer(action, { input: params, host, signal });
    return { status: 200, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: JSON.stringify(found) };
  }
  const own = protocol === 'json' ? await jsonHandlers[service]?.[action]?.(cloud, params) : undefined;
  if (own !== undefined) {
    return { status: 200, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: JSON.stringify(own) };
  }
  const rest = protocol === 'rest' ? await restAnswer(cloud, call) : undefined;
  if (rest !== undefined) return rest;
  const { method, path, headers, body } = call;
  const reply = await cloud.moto.send({ method, path, headers, body }, signal);
  if (isUnimplemented(reply)) throw notImplemented(service, action);
  return service === 'iam' ? iamReply(cloud, action, params as Params, reply) : reply;
}

async function restAnswer(cloud: Cloud, { service, method, path, body }: Call): Promise<Reply | undefined> {
  if (service === 'eks') return eksReply(cloud, method, path);
  if (service === 'fis') {
    const found = experiments(cloud, method, path, body.toString());
    return found && restReply(found);
  }
  if (service !== 'arc-zonal-shift') return undefined;
  return managedResource(cloud, decodeURIComponent(path.replace('/managedresources/', '')));
}

class Cut extends Error {}

/** What a fault does before the call runs. Throws AwsError or Cut when the call is not to run. */
async function suffer(fault: Fault, signal: AbortSignal): Promise<void> {
  switch (fault.kind) {
    case 'error':
      throw new AwsError(
        fault.code ?? 'InternalError',
        fault.message ?? 'An internal error has occurred',
        fault.status ?? 400,
      );
    case 'throttle':
      throw new AwsError(
        fault.code ?? 'RequestLimitExceeded',
        fault.message ?? 'Request limit exceeded.',
        fault.status ?? 503,
      );
    case 'delay':
      await sleep(fault.delayMs ?? 1000, undefined, { signal });
      return;
    case 'cut':
      throw new Cut();
    case 'hang':
      await sleep(2 ** 30, undefined, { signal });
      return;
    case 'lost':
      return;
  }
}

/** Evenly over the range, the same for the same request of a run. */
function latencyOf(range: Settings['latencyMs'], sequence: number): number {
  return range === null ? 0 : range.from + ((sequence * 7_919) % 1_000) * ((range.to - range.from) / 1_000);
}

/** Whether the network has a way from the caller to the service. */
function isReachable({ settings }: Cloud, { service, accessKey, tunnelled }: Call): boolean {
  const { pricing, isolatedVpc, proxyRequired } = settings;
  if (service === 'pricing' && !pricing) return false;
  if (accessKey !== stowageKey) return true;
  if (isolatedVpc && (service === 'iam' || service === 'pricing')) return false;
  return tunnelled || !proxyRequired;
}

/** Whether a list is asked for in one piece, and all of it. */
function isWhole(action: string, params: Params): boolean {
  const isFiltered = Object.keys(struct(params, 'Filter')).length > 0;
  return action.startsWith('Describe') && !isFiltered && param(params, 'MaxResults') === undefined;
}

async function serve(cloud: Cloud, call: Call, entry: LoggedRequest, signal: AbortSignal): Promise<Reply> {
  const { service, action, protocol, params } = call;
  const fault = cloud.faults.next(service, action, params);
  if (!isReachable(cloud, call)) throw new Cut();
  try {
    const latency = latencyOf(cloud.settings.latencyMs, entry.sequence);
    if (latency > 0) await sleep(latency, undefined, { signal });
    if (fault !== undefined) {
      entry.fault = fault.kind;
      await suffer(fault, signal);
    }
    if (
      service === 'ec2' &&
      !cloud.limits.admit(action, cloud.settings.rateLimits, isWhole(action, params as Params))
    ) {
      throw new AwsError('RequestLimitExceeded', 'Request limit exceeded.', 503);
    }
    // What is to be lost takes effect, also where the caller is gone meanwhile.
    if (fault?.kind === 'lost') {
      await answer(cloud, call, new AbortController().signal);
      throw new Cut();
    }
    return await answer(cloud, call, signal);
  } catch (error) {
    if (!(error instanceof AwsError)) throw error;
    if (fault?.kind === 'lost') throw new Cut();
    entry.error = error.code;
    return errorReply(protocol, error);
  }
}

async function handle(cloud: Cloud, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const body = await bodyOf(request);
  if (request.url?.startsWith('/_stowage/') === true) {
    send(response, await controlReply(cloud, request.method ?? 'GET', request.url, body.toString(), gone.signal));
    return;
  }
  const call = callOf(request, body, cloud.egress?.carried(request) === true);
  const at = cloud.now();
  const attempt = /attempt=(\d+)/.exec(call.headers['amz-sdk-request'] ?? '')?.[1];
  const entry = cloud.log.add({
    at,
    service: call.service,
    action: call.action,
    params: call.params,
    ...(attempt !== undefined && { attempt: Number(attempt) }),
  });
  const reply = await serve(cloud, call, entry, gone.signal);
  entry.status = reply.status;
  entry.durationMs = cloud.now() - at;
  send(response, reply);
}

function send(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status, { ...reply.headers, 'content-length': Buffer.byteLength(reply.body) });
  response.end(reply.body);
}

/** The proxy: AWS services on every path but /_stowage/, which is the control API. */
export function createProxy(cloud: Cloud): Server {
  const server = createServer((request, response) => {
    handle(cloud, request, response).catch((error: unknown) => {
      if (error instanceof Cut || response.destroyed) {
        response.destroy();
        return;
      }
      const message = messageOf(error);
      process.stderr.write(`${request.method ?? ''} ${request.url ?? ''}: ${message}\n`);
      send(response, errorReply('ec2', new AwsError('InternalError', message, 500)));
    });
  });
  server.keepAliveTimeout = 60_000;
  cloud.egress?.attach(server);
  return server;
}
