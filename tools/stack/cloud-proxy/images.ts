import { createHash } from 'node:crypto';

/** An image in the file format that moto loads (`MOTO_AMIS_PATH`). */
export interface MachineImage {
  ami_id: string;
  name: string;
  description: string;
  owner_id: string;
  architecture: 'x86_64' | 'arm64';
  creation_date: string;
  image_location: string;
  image_type: string;
  owner_alias: string;
  public: boolean;
  virtualization_type: string;
  hypervisor: string;
  root_device_name: string;
  root_device_type: string;
  platform: string | null;
  state: string;
  sriov: string;
}

/** An image with the SSM parameters that point to it. */
interface PublishedImage {
  image: MachineImage;
  parameters: string[];
}

/** Releases of each image, newest first: the day it was published. */
const releases = ['20261105', '20261008', '20260910', '20260520'] as const;
const bottlerocketReleases = ['1.52.0', '1.51.0', '1.45.0'] as const;
/** Kubernetes versions for which images are published; AL2 ended with 1.32. */
const imageKubernetesVersions = ['1.31', '1.32', '1.33', '1.34', '1.35', '1.36'] as const;

const owners = { eks: '602401143452', bottlerocket: '092701018921', windows: '801119661308', amazon: '137112412989' };

function image(name: string, options: Partial<MachineImage> & { owner_id: string; day: string }): MachineImage {
  const { day, ...rest } = options;
  const id = createHash('sha256').update(name).digest('hex').slice(0, 17);
  return {
    ami_id: `ami-${id}`,
    name,
    description: name,
    architecture: 'x86_64',
    creation_date: `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T06:00:00.000Z`,
    image_location: `amazon/${name}`,
    image_type: 'machine',
    owner_alias: 'amazon',
    public: true,
    virtualization_type: 'hvm',
    hypervisor: 'xen',
    root_device_name: '/dev/xvda',
    root_device_type: 'ebs',
    platform: null,
    state: 'available',
    sriov: 'simple',
    ...rest,
  };
}

function al2023(version: string): PublishedImage[] {
  const variants: [MachineImage['architecture'], string][] = [
    ['x86_64', 'standard'],
    ['arm64', 'standard'],
    ['x86_64', 'nvidia'],
    ['arm64', 'nvidia'],
    ['x86_64', 'neuron'],
  ];
  return variants.flatMap(([architecture, variant]) =>
    releases.map((day, age) => {
      const name = `amazon-eks-node-al2023-${architecture}-${variant}-${version}-v${day}`;
      const path = `/aws/service/eks/optimized-ami/${version}/amazon-linux-2023/${architecture}/${variant}`;
      return {
        image: image(name, { architecture, day, owner_id: owners.eks }),
        parameters: [`${path}/${name}/image_id`, ...(age === 0 ? [`${path}/recommended/image_id`] : [])],
      };
    }),
  );
}

function al2(version: string): PublishedImage[] {
  if (!['1.31', '1.32'].includes(version)) return [];
  const variants: [MachineImage['architecture'], string, string][] = [
    ['x86_64', 'amazon-linux-2', 'amazon-eks-node'],
    ['arm64', 'amazon-linux-2-arm64', 'amazon-eks-arm64-node'],
    ['x86_64', 'amazon-linux-2-gpu', 'amazon-eks-gpu-node'],
  ];
  return variants.flatMap(([architecture, folder, prefix]) =>
    releases.map((day, age) => {
      const name = `${prefix}-${version}-v${day}`;
      const path = `/aws/service/eks/optimized-ami/${version}/${folder}`;
      return {
        image: image(name, { architecture, day, owner_id: owners.eks }),
        parameters: [`${path}/${name}/image_id`, ...(age === 0 ? [`${path}/recommended/image_id`] : [])],
      };
    }),
  );
}

function bottlerocket(version: string): PublishedImage[] {
  const variants: [MachineImage['architecture'], string][] = [
    ['x86_64', ''],
    ['arm64', ''],
    ['x86_64', '-nvidia'],
    ['arm64', '-nvidia'],
  ];
  return variants.flatMap(([architecture, variant]) =>
    bottlerocketReleases.map((release, age) => {
      const flavour = `aws-k8s-${version}${variant}`;
      const build = createHash('sha256').update(release).digest('hex').slice(0, 8);
      const name = `bottlerocket-${flavour}-${architecture === 'arm64' ? 'aarch64' : architecture}-v${release}-${build}`;
      const path = `/aws/service/bottlerocket/${flavour}/${architecture}`;
      return {
        image: image(name, { architecture, day: releases[age]!, owner_id: owners.bottlerocket }),
        parameters: [
          `${path}/${release}/image_id`,
          `${path}/${release}-${build}/image_id`,
          ...(age === 0 ? [`${path}/latest/image_id`] : []),
        ],
      };
    }),
  );
}

function windows(version: string): PublishedImage[] {
  return ['2019', '2022', '2025'].map((year) => {
    const base = `Windows_Server-${year}-English-Core-EKS_Optimized-${version}`;
    return {
      image: image(`${base}-2026.11.11`, {
        day: '20261111',
        owner_id: owners.windows,
        platform: 'windows',
        root_device_name: '/dev/sda1',
      }),
      parameters: [`/aws/service/ami-windows-latest/${base}/image_id`],
    };
  });
}

function plain(): PublishedImage[] {
  return (['x86_64', 'arm64'] as const).map((architecture) => ({
    image: image(`al2023-ami-2023.9.20261103.0-kernel-6.12-${architecture}`, {
      architecture,
      day: '20261103',
      owner_id: owners.amazon,
    }),
    parameters: [`/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-${architecture}`],
  }));
}

/** Every published image: EKS AL2023, AL2, Bottlerocket and Windows by Kubernetes version, and plain AL2023. */
function publishedImages(): PublishedImage[] {
  const families = imageKubernetesVersions.flatMap((version) => [
    ...al2023(version),
    ...al2(version),
    ...bottlerocket(version),
    ...windows(version),
  ]);
  return [...families, ...plain()];
}

export const machineImages = (): MachineImage[] => publishedImages().map((published) => published.image);

/** The SSM parameters under /aws/service that name images. */
export function imageParameters(): Map<string, string> {
  return new Map(
    publishedImages().flatMap((published) =>
      published.parameters.map((path) => [path, published.image.ami_id] as const),
    ),
  );
}
