import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Catalogue, type MachineType } from './catalogue.js';
import { Egress } from './egress.js';
import { accountId, EventBus } from './events.js';
import { Faults } from './faults.js';
import { imageParameters, machineImages } from './images.js';
import { Instances } from './instances.js';
import { Moto } from './moto.js';
import { Authority, everything, filledIn, principalsOf } from './permissions/authority.js';
import type { Policy } from './permissions/policy.js';
import { partitionOf } from './partition.js';
import { type CapacityKind, CapacityPools, type Pool } from './pools.js';
import { InstanceProfiles } from './profiles.js';
import { onDemandPrice } from './prices.js';
import { listOf } from './query.js';
import { RateLimits } from './rate-limits.js';
import { Replay } from './replay.js';
import type { Recording } from './recording.js';
import { RequestLog } from './request-log.js';
import { defaultSettings, type ExperimentTemplate, type Settings, type SettingsPatch, withPatch } from './settings.js';
import { Sqs } from './sqs.js';
import { SpotMarket } from './spot-market.js';
import { LaunchTemplates } from './templates.js';
import { itemsOf, textOf } from './xml.js';
import type { Account } from './permissions/account.js';
import { AwsError } from './aws-error.js';

/**
 * Client tokens, as EC2 keeps them: the same token with the same parameters gets the first answer and has no second
 * effect, also while the first call is still running; with other parameters it is an error. A call that failed as a
 * whole had no effect, so its token is free again.
 */
export class ClientTokens {
  readonly #seen = new Map<string, { question: string; answer: Promise<unknown> }>();

  async once<T>(action: string, token: string | undefined, parameters: unknown, run: () => Promise<T>): Promise<T> {
    if (token === undefined || token === '') return run();
    const key = `${action}/${token}`;
    const question = createHash('sha256').update(JSON.stringify(parameters)).digest('hex');
    const before = this.#seen.get(key);
    if (before !== undefined) {
      if (before.question === question) return before.answer as Promise<T>;
      throw new AwsError(
        'IdempotentParameterMismatch',
        `The client token ${token} was used with other parameters before.`,
      );
    }
    const answer = run();
    this.#seen.set(key, { question, answer });
    answer.catch(() => this.#seen.delete(key));
    return answer;
  }

  clear(): void {
    this.#seen.clear();
  }
}

interface CloudOptions {
  motoEndpoint: string;
  /** The account in moto that is this cloud's own; callers see that of every local cloud. */
  motoAccount?: string | undefined;
  region: string;
  cluster: string;
  /** The API server's address, for eks:DescribeCluster. */
  clusterEndpoint: string;
  /** File of its certificate authority; it may appear later. */
  clusterCertificate: string | undefined;
  /** The policy that Stowage runs under, as deploy/iam-policy.json; without one it may do everything. */
  policyFile?: string | undefined;
  /** Name of the role that nodes run under. */
  nodeRole?: string | undefined;
  /** Families of instance types that the region has; default all. */
  instanceFamilies?: readonly string[] | undefined;
  /** A folder that keeps moto's unchanging answers between runs. */
  answersFolder?: string | undefined;
  /** A folder for certificates: with it an HTTP proxy serves as the way to AWS' own endpoints. */
  egressFolder?: string | undefined;
  now?: () => number;
}

export interface Subnet {
  zone: string;
  vpc: string;
  freeAddresses: number;
}

/** Everything that the proxy knows and moto does not, for one region. */
export class Cloud {
  readonly moto: Moto;
  readonly catalogue: Catalogue;
  readonly market: SpotMarket;
  readonly instances: Instances;
  readonly events: EventBus;
  readonly sqs: Sqs;
  readonly pools = new CapacityPools();
  readonly faults = new Faults();
  readonly templates: LaunchTemplates;
  readonly tokens = new ClientTokens();
  readonly log = new RequestLog();
  readonly limits: RateLimits;
  readonly profiles: InstanceProfiles;
  readonly authority: Authority;
  readonly imageParameters = imageParameters();
  readonly imageArchitectures = new Map(machineImages().map((image) => [image.ami_id, image.architecture as string]));
  /** When images were, or will be, deprecated by a call, by id. */
  readonly deprecations = new Map<string, string>();
  /** Subnets whose machines are named by their instance's id. */
  readonly namesByResource = new Set<string>();
  /** Experiment templates of Fault Injection Service, by id. */
  readonly experimentTemplates = new Map<string, ExperimentTemplate>();
  readonly now: () => number;
  /** When the node joiner last reported, in milliseconds of the epoch. */
  joinerSeenAt: number | undefined;
  /** The HTTP proxy to AWS' own endpoints; undefined where there is none. */
  readonly egress: Egress | undefined;
  /** What answers Stowage in place of this cloud. */
  replay: Replay | undefined;
  readonly #groups = new Map<string, { name: string; vpc: string }>();
  #settings: Settings;
  #walk: NodeJS.Timeout | undefined;

  constructor(readonly options: CloudOptions) {
    this.now = options.now ?? Date.now;
    const { region } = options;
    this.#settings = this.#usual();
    this.egress = options.egressFolder === undefined ? undefined : new Egress(region, options.egressFolder);
    this.moto = new Moto(options.motoEndpoint, region, options.motoAccount);
    this.catalogue = new Catalogue(this.moto, region, options.answersFolder, () => this.#settings.instanceFamilies);
    this.market = new SpotMarket(region, this.now);
    this.sqs = new Sqs(region, this.now);
    this.events = new EventBus(() => this.sqs.queue(options.cluster), region, this.now);
    this.instances = new Instances(this.moto, this.events, () => this.#settings, this.now, region);
    this.instances.ended = ({ facts }) => this.#giveBack(facts.capacityReservationId);
    this.templates = new LaunchTemplates(this.now);
    this.limits = new RateLimits(this.now);
    this.profiles = new InstanceProfiles(this.moto, this.now, () => this.#settings.profileUnknownMs);
    this.authority = new Authority(
      principalsOf(accountId, controllerPolicy(options), partitionOf(region).name),
      accountOf(this, region),
    );
  }

  get region(): string {
    return this.options.region;
  }

  get settings(): Settings {
    return this.#settings;
  }

  configure(patch: SettingsPatch): Settings {
    this.#settings = withPatch(this.#settings, patch);
    if ('spotWalk' in patch) this.#walkPrices();
    this.instances.touch();
    return this.#settings;
  }

  /** Answers Stowage as the recording has it from now on; undefined: as this cloud does. */
  play(recording: Recording | undefined): void {
    this.replay = recording && new Replay(recording);
  }

  /** Where there is an HTTP proxy it is the only way. */
  #usual(): Settings {
    const { egressFolder, instanceFamilies = null } = this.options;
    return { ...defaultSettings(), proxyRequired: egressFolder !== undefined, instanceFamilies };
  }

  #walkPrices(): void {
    clearInterval(this.#walk);
    const walk = this.#settings.spotWalk;
    if (walk === null) return;
    let step = 0;
    this.#walk = setInterval(() => {
      const seed = `${walk.seed}/${step++}`;
      void this.catalogue.pools().then((pools) => this.market.walk(seed, walk.volatility, pools));
    }, walk.intervalMs);
  }

  /** Forgets faults, capacity rules, settings, prices and the log; instances stay. */
  resetChaos(): void {
    this.faults.clear();
    this.pools.replace([]);
    this.market.reset();
    this.limits.clear();
    this.log.clear();
    this.authority.clear();
    this.play(undefined);
    this.configure(this.#usual());
  }

  priceOf(machine: MachineType, zone: string, capacityType: CapacityKind): number {
    return capacityType === 'spot' ? this.market.price(machine, zone) : onDemandPrice(machine, this.region);
  }

  /** The subnets as moto has them now, with scripted counts of free addresses. */
  async subnets(): Promise<Map<string, Subnet>> {
    const answer = await this.moto.ec2('DescribeSubnets', {});
    return new Map(
      itemsOf(answer, 'subnetSet').map((item) => {
        const id = textOf(item, 'subnetId') ?? '';
        const free = this.#settings.freeAddresses[id] ?? Number(textOf(item, 'availableIpAddressCount') ?? 0);
        const vpc = textOf(item, 'vpcId') ?? '';
        return [id, { zone: textOf(item, 'availabilityZone') ?? '', vpc, freeAddresses: free }];
      }),
    );
  }

  async firstZone(): Promise<string> {
    const answer = await this.moto.ec2('DescribeAvailabilityZones', {});
    return textOf(itemsOf(answer, 'availabilityZoneInfo')[0], 'zoneName') ?? `${this.region}a`;
  }

  /** Names of security groups, for instance descriptions. Throws InvalidGroup.NotFound. */
  async securityGroups(ids: readonly string[]): Promise<{ id: string; name: string; vpc: string }[]> {
    const unknown = ids.filter((id) => !this.#groups.has(id));
    if (unknown.length > 0) {
      const answer = await this.moto.ec2('DescribeSecurityGroups', { GroupId: listOf(unknown) });
      for (const item of itemsOf(answer, 'securityGroupInfo')) {
        const group = { name: textOf(item, 'groupName') ?? '', vpc: textOf(item, 'vpcId') ?? '' };
        this.#groups.set(textOf(item, 'groupId') ?? '', group);
      }
    }
    return ids.map((id) => ({ id, ...(this.#groups.get(id) ?? { name: '', vpc: '' }) }));
  }

  /** Takes instances out of a scripted capacity reservation. */
  takeReservation(
    id: string,
    pool: Pool,
    asked: number,
  ): { granted: number; error?: { code: string; message: string } } {
    const reservation = this.#settings.capacityReservations.find((each) => each.id === id);
    if (reservation === undefined || (reservation.state ?? 'active') !== 'active') {
      const message = `The capacity reservation '${id}' does not exist or is not active.`;
      return { granted: 0, error: { code: 'InvalidCapacityReservationId.NotFound', message } };
    }
    const fits = reservation.instanceType === pool.instanceType && reservation.zone === pool.zone;
    const granted = fits ? Math.min(asked, reservation.available) : 0;
    reservation.available -= granted;
    if (granted === asked) return { granted };
    const message = `The requested capacity reservation '${id}' has no capacity left for ${pool.instanceType} in ${pool.zone}.`;
    return { granted, error: { code: 'ReservationCapacityExceeded', message } };
  }

  /** An instance that ended leaves its place in the reservation. */
  #giveBack(reservationId: string | undefined): void {
    const reservation = this.#settings.capacityReservations.find(({ id }) => id === reservationId);
    if (reservation === undefined || (reservation.state ?? 'active') !== 'active') return;
    reservation.available = Math.min(reservation.total, reservation.available + 1);
  }

  close(): void {
    clearInterval(this.#walk);
    this.instances.clear();
  }
}

function controllerPolicy({ policyFile, region, cluster, nodeRole = '' }: CloudOptions): Policy {
  if (policyFile === undefined) return everything;
  return filledIn(readFileSync(policyFile, 'utf8'), {
    AWS_PARTITION: partitionOf(region).name,
    AWS_REGION: region,
    AWS_ACCOUNT_ID: accountId,
    CLUSTER_NAME: cluster,
    NODE_ROLE_NAME: nodeRole,
    INTERRUPTION_QUEUE: cluster,
  });
}

interface Contents {
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
  readonly profiles: InstanceProfiles;
}

/** The local cloud as IAM looks at it. */
function accountOf(cloud: Contents, region: string): Account {
  const arn: Account['arn'] = (service, resource, owner = accountId) =>
    `arn:${partitionOf(region).name}:${service}:${service === 'iam' ? '' : region}:${owner}:${resource}`;
  return {
    id: accountId,
    in: (other) => accountOf(cloud, other),
    arn,
    // Images and snapshots are named without an account.
    ec2Arn: (kind, id) => arn('ec2', `${kind}/${id}`, kind === 'image' || kind === 'snapshot' ? '' : accountId),
    tagsOf: (id) => {
      const tags = id.startsWith('lt-') ? cloud.templates.find(id)?.tags : cloud.instances.get(id)?.tags;
      return tags && Object.fromEntries(tags);
    },
    template: (idOrName, version) => {
      const found = cloud.templates.find(idOrName);
      if (found === undefined) return undefined;
      const index =
        version === undefined || version === '$Default' ? 0 : version === '$Latest' ? -1 : Number(version) - 1;
      return { id: found.id, data: found.versions.at(index) ?? {} };
    },
    profile: (name) => cloud.profiles.find(name),
  };
}
