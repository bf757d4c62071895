import type { AwsOptions } from '../../cloud/aws/options.js';
import { calledBy } from '../stack/cloud-proxy/called.js';
import { catalogueActions, type RecordedCall, recordedNames, type Recording } from '../stack/cloud-proxy/recording.js';

/** Names of the account that a recording must not contain. */
interface AccountNames {
  readonly cluster: string;
  /** Role or instance profile of nodes. */
  readonly identity: string;
  /** Of this run. */
  readonly run: string;
}

const resourceKinds =
  'i|ami|subnet|sg|sgr|vpc|eni|eni-attach|vol|snap|lt|cr|pg|r|sir|eipassoc|eipalloc|rtb|igw|acl|dopt|cbr|crf';
const resourceId = new RegExp(`\\b(${resourceKinds})-[0-9a-f]{8,17}\\b`, 'g');
const fleetId = /\bfleet-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const requestId = /(?<!fleet-)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const uniqueId = /\b(A[A-Z]{2}A)[A-Z0-9]{12,}\b/g;
/** Not the end of a UUID. */
const account = /(?<![\d-])\d{12}(?!\d)/g;
const hardware = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/;
const ipv6 = /\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}/g;
const ipv4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)|(?<=\b(?:ip|ec2)-)\d{1,3}(?:-\d{1,3}){3}(?!\d)/g;
/** The texts in an answer that people write as they like. */
const freeText =
  /<(groupName|groupDescription|description|keyName|userData|reason|imageLocation|createdBy|AssumeRolePolicyDocument)>[^<]*</g;
const tagItem = /<(item|member)><(key|Key)>([^<]*)<\/\2><(value|Value)>[^<]*<\/\4><\/\1>/g;
/** Who signed the call, as refusals name them, and what refusals have in code. */
const caller = /(?<=:(?:assumed-role|user)\/)[^\s<"&]+/g;
const encoded = /(?<=Encoded authorization failure message: )[^\s<"]+/g;
const ownTag = /^(karpenter\.(sh|k8s\.aws)\/|kubernetes\.io\/cluster\/|eks:eks-cluster-name$|aws:ec2|topology\.)/;
const pageToken = /(?<=<nextToken>|"NextToken":"|"nextToken":")[^<"]+/g;
/** What of eks:DescribeCluster the provider reads. */
const clusterFields = [
  'name',
  'arn',
  'version',
  'endpoint',
  'status',
  'certificateAuthority',
  'kubernetesNetworkConfig',
];

/** Gives every secret one placeholder, the same at each occurrence. */
class Placeholders {
  private readonly known = new Map<string, string>();
  private readonly counts = new Map<string, number>();

  of(kind: string, found: string, make: (count: number) => string): string {
    const known = this.known.get(found);
    if (known !== undefined) return known;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    const made = make(count);
    this.known.set(found, made);
    return made;
  }
}

const word = (text: string): RegExp =>
  // `/dev/xvda` is no cluster of the name dev.
  new RegExp(`(?<![A-Za-z0-9-])${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![A-Za-z0-9-]|/(?:xvd|sd|nvme))`, 'g');

/**
 * The calls with nothing of the account in them: ids, addresses, names, tags and texts that are the account's own have placeholders, the same
 * throughout. Throws when something of the account is still there.
 */
export function scrubbed(calls: readonly RecordedCall[], names: AccountNames): RecordedCall[] {
  const standIns = new Placeholders();
  const secrets = secretsIn(calls);
  const clean = calls.map((call) => {
    const body = scrubText(withoutFreeText(call), names, standIns);
    const params = JSON.parse(scrubText(JSON.stringify(withoutUserData(call.params)), names, standIns)) as unknown;
    const { step, service, status, contentType, errorType } = call;
    const action = scrubText(call.action, names, standIns);
    return { step, service, action, params, status, contentType, ...(errorType !== undefined && { errorType }), body };
  });
  const text = JSON.stringify(clean);
  const left = [...secrets, names.identity].find((secret) => secret !== recordedNames.account && text.includes(secret));
  // What was found is the account's: the message must not contain it.
  if (left !== undefined) throw new Error(`The recording still has ${left.length} characters that are the account's.`);
  return clean;
}

/** The account's number, and the addresses and certificates of its cluster. */
function secretsIn(calls: readonly RecordedCall[]): string[] {
  const texts = calls.map(({ body }) => body);
  const accounts = texts.flatMap((text) => [...text.matchAll(/arn:[a-z-]+:(?:iam|eks):[a-z0-9-]*:(\d{12}):/g)]);
  const clusters = calls.filter(({ service }) => service === 'eks').map(({ body }) => clusterIn(body));
  return [
    ...accounts.map((match) => match[1]!),
    ...clusters.flatMap(({ endpoint = '', certificateAuthority }) => [
      endpoint.replace(/^https:\/\//, ''),
      certificateAuthority?.data ?? '',
    ]),
  ].filter((secret) => secret !== '' && !secret.startsWith('127.0.0.1'));
}

interface Cluster {
  readonly endpoint?: string;
  readonly certificateAuthority?: { readonly data?: string };
}

function clusterIn(body: string): Cluster {
  if (!body.startsWith('{')) return {};
  return (JSON.parse(body) as { cluster?: Cluster }).cluster ?? {};
}

function withoutFreeText({ service, body }: RecordedCall): string {
  if (service !== 'eks')
    return body
      .replace(freeText, '<$1>-<')
      .replace(caller, 'Controller/session')
      .replace(encoded, '-')
      .replace(tagItem, (item, list: string, keyName: string, key: string, valueName: string) =>
        ownTag.test(key) ? item : `<${list}><${keyName}>${key}</${keyName}><${valueName}>-</${valueName}></${list}>`,
      );
  const cluster = clusterIn(body) as Record<string, unknown>;
  if (Object.keys(cluster).length === 0) return body;
  const kept = Object.fromEntries(Object.entries(cluster).filter(([name]) => clusterFields.includes(name)));
  return JSON.stringify({
    cluster: { ...kept, endpoint: 'https://cluster.example', certificateAuthority: { data: 'Q0E=' } },
  });
}

/** User data names the cluster and has its certificates: that there was some is enough. */
function withoutUserData(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutUserData);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, name === 'UserData' ? '-' : withoutUserData(inner)]),
  );
}

function scrubText(text: string, names: AccountNames, standIns: Placeholders): string {
  const replaced = (kind: string, make: (count: number) => string) => (found: string) => standIns.of(kind, found, make);
  const hex = (count: number): string => count.toString(16).padStart(17, '0');
  return text
    .replace(
      pageToken,
      replaced('page', (count) => `page-${count}`),
    )
    .replace(resourceId, (found, kind: string) => standIns.of(kind, found, (count) => `${kind}-${hex(count)}`))
    .replace(
      fleetId,
      replaced('fleet', (count) => `fleet-00000000-0000-0000-0000-${hex(count).slice(-12)}`),
    )
    .replace(requestId, '00000000-0000-0000-0000-000000000000')
    .replace(uniqueId, (found, kind: string) =>
      standIns.of(kind, found, (count) => `${kind}${String(count).padStart(17, '0')}`),
    )
    .replace(account, (found) =>
      standIns.of('account', found, (count) => (count === 1 ? recordedNames.account : String(100_000_000_000 + count))),
    )
    .replace(ipv6, (found) =>
      hardware.test(found)
        ? '02:00:00:00:00:00'
        : standIns.of('ipv6', found, (count) => `2001:db8::${count.toString(16)}`),
    )
    .replace(ipv4, (found) => {
      // An address and the name that is made of it belong together.
      const address = standIns.of('ipv4', found.replaceAll('-', '.'), (count) => `198.18.${count >> 8}.${count & 255}`);
      return found.includes('-') ? address.replaceAll('.', '-') : address;
    })
    .replaceAll(names.run, recordedNames.run)
    .replace(word(names.identity), recordedNames.role)
    .replace(word(names.cluster), recordedNames.cluster);
}

/** Keeps what an account answers, step by step. */
export class Recorder {
  /** Of the suite, for what is heard from now on. */
  step = '';
  readonly #calls: RecordedCall[] = [];

  /** For the provider's `onExchange`. */
  readonly hear: NonNullable<AwsOptions['onExchange']> = (exchange) => {
    const { service, action, params } = calledBy(exchange, exchange.service);
    if (catalogueActions.includes(action)) return;
    const { status, headers, body } = exchange.answer;
    const errorType = headers['x-amzn-errortype'];
    const { 'content-type': contentType = '' } = headers;
    const answer = { status, contentType, ...(errorType !== undefined && { errorType }), body };
    this.#calls.push({ step: this.step, service, action, params, ...answer });
  };

  /** What was heard, with nothing of the account in it. Throws when that cannot be had. */
  recording(region: string, recordedAt: Date, names: AccountNames): Recording {
    return { version: 1, recordedAt: recordedAt.toISOString(), region, calls: scrubbed(this.#calls, names) };
  }
}
