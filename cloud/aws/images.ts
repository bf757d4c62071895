import type { Image } from '@aws-sdk/client-ec2';
import type { EC2NodeClassSpec, ResolvedAmi } from '../../api/aws/ec2-node-class.js';
import { awsLabels } from '../../api/aws/labels.js';
import type { NodeSelectorRequirement } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import { isDomainError } from '../../core/failures.js';
import { lookUp } from '../../core/own.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { families } from './families.js';
import { allPages } from './pages.js';
import { tagFilters } from './tags.js';

type Term = EC2NodeClassSpec['amiSelectorTerms'][number];

/** An alias that this cluster cannot use (node-classes/unsupported-alias). */
export class UnsupportedAliasError extends Error {
  override readonly name = 'UnsupportedAliasError';
}

interface ImagesOptions {
  readonly calls: Pick<AwsCalls, 'describeImages' | 'getParameter'>;
  readonly clock: Clock;
  /** Kubernetes version of the cluster as `major.minor`, such as 1.34. */
  readonly kubernetesVersion: () => Promise<string>;
}

interface Candidate {
  readonly image: Image;
  readonly requirements: readonly NodeSelectorRequirement[];
}

const day = 24 * 3_600_000;
const notAccelerated: readonly NodeSelectorRequirement[] = [
  { key: awsLabels.instanceGpuCount, operator: 'DoesNotExist' },
  { key: awsLabels.instanceAcceleratorCount, operator: 'DoesNotExist' },
];
const withGpu: readonly NodeSelectorRequirement[] = [{ key: awsLabels.instanceGpuCount, operator: 'Exists' }];
const withAccelerator: readonly NodeSelectorRequirement[] = [
  { key: awsLabels.instanceAcceleratorCount, operator: 'Exists' },
];

/** Resolves the images of a node class (node-classes/images). */
export class Images {
  private readonly parameters: CachedByKey<string | undefined>;
  private readonly ownParameters: CachedByKey<string | undefined>;

  constructor(private readonly options: ImagesOptions) {
    this.parameters = new CachedByKey(options.clock, day);
    this.ownParameters = new CachedByKey(options.clock, day / 288);
  }

  /**
   * Images, newest first, each with the requirements of the types it fits. Of images with equal requirements, one that
   * is not deprecated is preferred, then the newest, then the greater name. Throws `UnsupportedAliasError` or
   * `DomainError`.
   */
  async resolve(spec: Pick<EC2NodeClassSpec, 'amiSelectorTerms'>): Promise<ResolvedAmi[]> {
    const found = await Promise.all(spec.amiSelectorTerms.map((term) => this.candidates(term)));
    const now = this.options.clock.now();
    const byRequirements = new Map<string, Candidate>();
    for (const candidate of found.flat().sort(newestFirst(now))) {
      const key = JSON.stringify(candidate.requirements);
      if (!byRequirements.has(key)) byRequirements.set(key, candidate);
    }
    return [...byRequirements.values()].map(({ image, requirements }) => ({
      id: image.ImageId ?? '',
      ...(image.Name === undefined ? {} : { name: image.Name }),
      ...(isDeprecated(image, now) ? { deprecated: true } : {}),
      requirements: requirements.map((requirement) => ({ ...requirement })),
    }));
  }

  private async candidates(term: Term): Promise<Candidate[]> {
    if (term.alias !== undefined) return this.ofAlias(term.alias);
    if (term.ssmParameter !== undefined) return this.ofParameter(term.ssmParameter);
    return (await this.describe(queryOf(term))).flatMap((image) => candidate(image));
  }

  private async ofParameter(name: string): Promise<Candidate[]> {
    const id = await this.read(this.ownParameters, name);
    if (id?.startsWith('ami-') !== true) return [];
    const images = await this.describe({ Filters: [{ Name: 'image-id', Values: [id] }] });
    return images.flatMap((image) => candidate(image));
  }

  private async ofAlias(alias: string): Promise<Candidate[]> {
    const kubernetes = await this.options.kubernetesVersion();
    const wanted = aliasParameters(alias, kubernetes);
    const ids = await Promise.all(wanted.map(({ parameter }) => this.read(this.parameters, parameter)));
    // One image may serve several kinds of machines, with separate requirements for each.
    const variants = new Map<string, (readonly NodeSelectorRequirement[])[]>();
    ids.forEach((id, index) => {
      if (id !== undefined) variants.set(id, [...(variants.get(id) ?? []), wanted[index]!.requirements]);
    });
    if (variants.size === 0) return [];
    const images = await this.describe({ Filters: [{ Name: 'image-id', Values: [...variants.keys()] }] });
    // The parameter of a fixed release never changes its image.
    if (alias.endsWith('@latest')) this.forgetDeprecated(wanted, ids, images);
    return images.flatMap((image) =>
      (variants.get(image.ImageId ?? '') ?? []).flatMap((variant) => candidate(image, variant)),
    );
  }

  /** A parameter whose image is deprecated or deleted will soon name another, so its cached value is dropped. */
  private forgetDeprecated(
    wanted: readonly AliasParameter[],
    ids: readonly (string | undefined)[],
    images: readonly Image[],
  ): void {
    const now = this.options.clock.now();
    const current = new Set(images.filter((image) => !isDeprecated(image, now)).map(({ ImageId }) => ImageId));
    wanted.forEach(({ parameter }, index) => {
      if (ids[index] !== undefined && !current.has(ids[index])) this.parameters.forget(parameter);
    });
  }

  /** A parameter's value. Its absence is not cached. */
  private async read(kept: CachedByKey<string | undefined>, name: string): Promise<string | undefined> {
    const value = await kept.get(name, () => this.parameter(name));
    if (value === undefined) kept.forget(name);
    return value;
  }

  private async parameter(name: string): Promise<string | undefined> {
    try {
      return (await this.options.calls.getParameter(name)).Parameter?.Value;
    } catch (error) {
      if (isDomainError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  private async describe(query: ImageQuery): Promise<Image[]> {
    const images = await allPages(
      'ec2:DescribeImages',
      (token) =>
        this.options.calls.describeImages({ ...query, IncludeDeprecated: true, MaxResults: 500, NextToken: token }),
      (page) => page.Images,
    );
    return images.filter(
      ({ ImageId: id, State: state }) => id !== undefined && (state === undefined || state === 'available'),
    );
  }
}

interface ImageQuery {
  readonly Owners?: string[];
  readonly Filters: { Name: string; Values: string[] }[];
}

function queryOf(term: Term): ImageQuery {
  if (term.id !== undefined) return { Filters: [{ Name: 'image-id', Values: [term.id] }] };
  const filters = tagFilters(term.tags);
  if (term.name !== undefined) filters.push({ Name: 'name', Values: [term.name] });
  if (term.owner !== undefined) return { Owners: [term.owner], Filters: filters };
  // Any account may publish an image under any name, so a name without owner is searched only among the account's and
  // Amazon's images.
  return term.name === undefined ? { Filters: filters } : { Owners: ['self', 'amazon'], Filters: filters };
}

const architectures: Readonly<Record<string, string>> = { x86_64: 'amd64', arm64: 'arm64' };

/** The requirements of an image on instance types; its tags do not matter. Undefined if no node can run it. */
function requirementsOf({ Architecture: architecture }: Image): NodeSelectorRequirement[] | undefined {
  const arch = lookUp(architectures, architecture ?? '');
  return arch === undefined ? undefined : [{ key: labels.arch, operator: 'In', values: [arch] }];
}

function candidate(image: Image, variant: readonly NodeSelectorRequirement[] = []): Candidate[] {
  const own = requirementsOf(image);
  return own === undefined ? [] : [{ image, requirements: [...own, ...variant] }];
}

function newestFirst(now: number): (a: Candidate, b: Candidate) => number {
  return (a, b) => {
    const deprecated = Number(isDeprecated(a.image, now)) - Number(isDeprecated(b.image, now));
    const older = Date.parse(b.image.CreationDate ?? '1970') - Date.parse(a.image.CreationDate ?? '1970');
    const greater = compareText(b.image.Name ?? '', a.image.Name ?? '');
    return deprecated || older || greater || compareText(a.image.ImageId ?? '', b.image.ImageId ?? '');
  };
}

/** EC2 announces the date years ahead. */
function isDeprecated({ DeprecationTime: time }: Image, now: number): boolean {
  return time !== undefined && Date.parse(time) <= now;
}

interface AliasParameter {
  readonly parameter: string;
  readonly requirements: readonly NodeSelectorRequirement[];
}

/** SSM parameters that hold the images of an alias such as `al2023@latest`. Throws `UnsupportedAliasError`. */
function aliasParameters(alias: string, kubernetes: string): AliasParameter[] {
  const [family, version = 'latest'] = alias.split('@');
  const minor = Number(kubernetes.split('.')[1]);
  const at = (parameter: string, requirements: readonly NodeSelectorRequirement[]): AliasParameter => ({
    parameter,
    requirements,
  });
  switch (family) {
    case 'al2023':
      return [
        ['x86_64', 'standard', notAccelerated] as const,
        ['arm64', 'standard', notAccelerated] as const,
        ['x86_64', 'nvidia', withGpu] as const,
        ['arm64', 'nvidia', withGpu] as const,
        ['x86_64', 'neuron', withAccelerator] as const,
      ].map(([arch, variant, requirements]) => {
        const name =
          version === 'latest' ? 'recommended' : `amazon-eks-node-al2023-${arch}-${variant}-${kubernetes}-${version}`;
        const base = `/aws/service/eks/optimized-ami/${kubernetes}/amazon-linux-2023`;
        return at(`${base}/${arch}/${variant}/${name}/image_id`, requirements);
      });
    case 'al2':
      if (minor >= 33) throw new UnsupportedAliasError(`AL2 has no images for Kubernetes ${kubernetes}`);
      return [
        ['amazon-linux-2', 'amazon-eks-node', notAccelerated] as const,
        ['amazon-linux-2-arm64', 'amazon-eks-arm64-node', notAccelerated] as const,
        ['amazon-linux-2-gpu', 'amazon-eks-gpu-node', [...withGpu]] as const,
        ['amazon-linux-2-gpu', 'amazon-eks-gpu-node', [...withAccelerator]] as const,
      ].map(([folder, prefix, requirements]) => {
        const name = version === 'latest' ? 'recommended' : `${prefix}-${kubernetes}-${version}`;
        return at(`/aws/service/eks/optimized-ami/${kubernetes}/${folder}/${name}/image_id`, requirements);
      });
    case 'bottlerocket':
      return [
        ['', 'x86_64', notAccelerated] as const,
        ['', 'x86_64', withAccelerator] as const,
        ['', 'arm64', notAccelerated] as const,
        ['-nvidia', 'x86_64', withGpu] as const,
        ['-nvidia', 'arm64', withGpu] as const,
      ].map(([variant, arch, requirements]) => {
        const base = `/aws/service/bottlerocket/aws-k8s-${kubernetes}${variant}`;
        return at(`${base}/${arch}/${version.replace(/^v/, '')}/image_id`, requirements);
      });
    default:
      return windowsParameters(family ?? '', kubernetes, minor).map((parameter) => at(parameter, windowsOf(family)));
  }
}

/** Karpenter's status also names the operating system and its build. */
function windowsOf(alias = ''): NodeSelectorRequirement[] {
  const { os, windowsBuild } = families[alias.replace('windows', 'Windows') as 'Windows2022'];
  return [
    { key: labels.os, operator: 'In', values: [os] },
    { key: labels.windowsBuild, operator: 'In', values: [windowsBuild ?? ''] },
  ];
}

function windowsParameters(family: string, kubernetes: string, minor: number): string[] {
  const year = family.replace('windows', '');
  if (year === '2025' && minor < 35)
    throw new UnsupportedAliasError(`Windows2025 needs Kubernetes 1.35, not ${kubernetes}`);
  return [`/aws/service/ami-windows-latest/Windows_Server-${year}-English-Core-EKS_Optimized-${kubernetes}/image_id`];
}
