import { readFileSync } from 'node:fs';
import { AwsError, type Reply } from './aws-error.js';
import type { MachineType } from './catalogue.js';
import type { Cloud } from './cloud.js';
import { accountId } from './events.js';
import { page } from './paging.js';
import { parameterName } from './parameter-name.js';
import { partitionOf } from './partition.js';
import { onDemandPrice } from './prices.js';

/** Answers a JSON-protocol action; undefined sends it to moto. */
export type JsonHandler = (cloud: Cloud, input: Record<string, unknown>) => Promise<object | undefined>;

// ---- SSM: moto has none of the parameters that name EKS images, and refuses to create them -----------------

function parameter(cloud: Cloud, nameOrArn: string): object | undefined {
  const name = parameterName(nameOrArn);
  const value = cloud.imageParameters.get(name);
  if (value === undefined) return undefined;
  return {
    Name: name,
    Type: 'String',
    Value: value,
    Version: 1,
    ARN: `arn:${partitionOf(cloud.region).name}:ssm:${cloud.region}::parameter${name}`,
    DataType: 'aws:ec2:image',
    LastModifiedDate: 1_762_300_800,
  };
}

const getParameter: JsonHandler = (cloud, input) => {
  const found = parameter(cloud, String(input['Name']));
  return Promise.resolve(found && { Parameter: found });
};

const getParameters: JsonHandler = async (cloud, input) => {
  const names = input['Names'] as string[];
  const isOwn = (name: string): boolean => cloud.imageParameters.has(parameterName(name));
  const own = names.filter(isOwn);
  const rest = names.filter((name) => !isOwn(name));
  const others =
    rest.length === 0
      ? { Parameters: [], InvalidParameters: [] }
      : await cloud.moto.json<{ Parameters: object[]; InvalidParameters: string[] }>('ssm', 'AmazonSSM.GetParameters', {
          ...input,
          Names: rest,
        });
  return { ...others, Parameters: [...own.map((name) => parameter(cloud, name)!), ...others.Parameters] };
};

const getParametersByPath: JsonHandler = (cloud, input) => {
  const path = String(input['Path']).replace(/\/$/, '');
  const recursive = input['Recursive'] === true;
  const names = [...cloud.imageParameters.keys()]
    .filter((name) => name.startsWith(`${path}/`) && (recursive || !name.slice(path.length + 1).includes('/')))
    .sort();
  if (names.length === 0) return Promise.resolve(undefined);
  const { items, next } = page(names, `GetParametersByPath ${path} ${recursive}`, {
    token: input['NextToken'] as string | undefined,
    size: Number(input['MaxResults'] ?? 10),
  });
  return Promise.resolve({
    Parameters: items.map((name) => parameter(cloud, name)!),
    ...(next && { NextToken: next }),
  });
};

// ---- Pricing: moto has none ------------------------------------------------------------------------------------

interface PriceFilter {
  Type?: string;
  Field?: string;
  Value?: string;
}

interface Product {
  readonly attributes: Record<string, string>;
  readonly text: string;
}

/** By region; each page of a list goes through all products. */
const products = new Map<string, WeakMap<MachineType, Product>>();

function product(machine: MachineType, region: string): Product {
  let ofRegion = products.get(region);
  if (ofRegion === undefined) products.set(region, (ofRegion = new WeakMap<MachineType, Product>()));
  const known = ofRegion.get(machine);
  if (known !== undefined) return known;
  const made = makeProduct(machine, region);
  ofRegion.set(machine, made);
  return made;
}

function makeProduct(machine: MachineType, region: string): Product {
  const attributes = productAttributes(machine, region);
  const sku = Buffer.from(`${region}${machine.name}`).toString('hex').toUpperCase().slice(0, 16).padEnd(16, '0');
  const dimension = {
    unit: 'Hrs',
    beginRange: '0',
    endRange: 'Inf',
    description: `${machine.name} Linux on demand`,
    appliesTo: [],
    rateCode: `${sku}.JRTCKXETXF.6YS6EN2CT7`,
    pricePerUnit: { [partitionOf(region).currency]: onDemandPrice(machine, region).toFixed(10) },
  };
  const term = {
    priceDimensions: { [dimension.rateCode]: dimension },
    sku,
    effectiveDate: '2026-11-01T00:00:00Z',
    offerTermCode: 'JRTCKXETXF',
    termAttributes: {},
  };
  const text = JSON.stringify({
    product: { productFamily: 'Compute Instance', attributes, sku },
    serviceCode: 'AmazonEC2',
    terms: { OnDemand: { [`${sku}.JRTCKXETXF`]: term } },
    version: '20261101000000',
    publicationDate: '2026-11-01T00:00:00Z',
  });
  return { attributes, text };
}

/** An attribute that a filter names; filters on attributes which are not modelled are taken to hold. */
function holds(attributes: Record<string, string>, filters: readonly PriceFilter[]): boolean {
  return filters.every(({ Type = 'TERM_MATCH', Field = '', Value = '' }) => {
    const actual = attributes[Field];
    if (actual === undefined) return true;
    const wanted = Type.endsWith('ANY_OF') || Type.endsWith('NONE_OF') ? Value.split(',') : [Value];
    const found = wanted.includes(actual);
    return Type.endsWith('NONE_OF') ? !found : found;
  });
}

const getProducts: JsonHandler = async (cloud, input) => {
  const filters = (input['Filters'] as PriceFilter[] | undefined) ?? [];
  const region = filters.find(({ Field }) => Field === 'regionCode')?.Value ?? cloud.region;
  const offered = await cloud.catalogue.zones();
  const found = (await cloud.catalogue.machines())
    .filter(({ name }) => offered.has(name))
    .map((machine) => product(machine, region))
    .filter(({ attributes }) => holds(attributes, filters));
  const { items, next } = page(found, JSON.stringify(filters), {
    token: input['NextToken'] as string | undefined,
    size: Math.min(100, Number(input['MaxResults'] ?? 100)),
    code: 'InvalidNextTokenException',
  });
  return { FormatVersion: 'aws_v1', PriceList: items.map(({ text }) => text), ...(next && { NextToken: next }) };
};

export const jsonHandlers: Readonly<Record<string, Readonly<Record<string, JsonHandler>>>> = {
  ssm: { GetParameter: getParameter, GetParameters: getParameters, GetParametersByPath: getParametersByPath },
  pricing: { GetProducts: getProducts },
};

// ---- EKS and zonal shift: REST services ------------------------------------------------------------------------

/** The answer of a REST service. */
export const restReply = (body: object): Reply => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

const networks = {
  ipv4: { serviceIpv4Cidr: '10.100.0.0/16', ipFamily: 'ipv4' },
  ipv6: { serviceIpv6Cidr: 'fd00:10:100::/108', ipFamily: 'ipv6' },
} as const;

/** EKS: `GET /clusters/NAME`, and the access entries of roles, without which no kubelet joins there, and any does here. */
export async function eksReply(cloud: Cloud, method: string, path: string): Promise<Reply | undefined> {
  const [, encoded, rest] = /^\/clusters\/([^/?]+)(?:\/(access-entries))?/.exec(path) ?? [];
  if (encoded === undefined) return undefined;
  const name = decodeURIComponent(encoded);
  const { cluster } = cloud.options;
  if (name !== cluster) throw new AwsError('ResourceNotFoundException', `No cluster found for name: ${name}.`, 404);
  if (rest === undefined) return method === 'GET' ? describeCluster(cloud, name) : undefined;
  return restReply(method === 'POST' ? { accessEntry: { clusterName: name } } : {});
}

/** The stack's own API server as an EKS cluster. */
async function describeCluster(cloud: Cloud, name: string): Promise<Reply> {
  const { clusterEndpoint, clusterCertificate } = cloud.options;
  const vpcId = [...(await cloud.subnets()).values()][0]?.vpc;
  let data = '';
  try {
    if (clusterCertificate !== undefined) data = readFileSync(clusterCertificate).toString('base64');
  } catch {
    // A stack without an API server has no certificate.
  }
  return restReply({
    cluster: {
      name,
      arn: `arn:${partitionOf(cloud.region).name}:eks:${cloud.region}:${accountId}:cluster/${name}`,
      version: cloud.settings.kubernetesVersion,
      endpoint: clusterEndpoint,
      status: 'ACTIVE',
      certificateAuthority: { data },
      resourcesVpcConfig: { vpcId },
      kubernetesNetworkConfig: networks[cloud.settings.ipFamily],
      platformVersion: 'eks.1',
      tags: {},
    },
  });
}

/** `GET /managedresources/ARN` of ARC zonal shift. */
export function managedResource(cloud: Cloud, arn: string): Reply {
  const startTime = Math.floor(cloud.now() / 1000);
  const shifts = cloud.settings.shiftedZones.map((zone) => ({
    appliedStatus: 'APPLIED',
    zonalShiftId: `shift-${zone}`,
    resourceIdentifier: arn,
    awayFrom: zone,
    startTime,
    expiryTime: startTime + 3600,
    comment: 'scripted',
  }));
  return restReply({ arn, name: cloud.options.cluster, appliedWeights: {}, zonalShifts: shifts, autoshifts: [] });
}

function productAttributes(machine: MachineType, region: string): Record<string, string> {
  const family = machine.gpuCount > 0 ? 'GPU instance' : 'General purpose';
  return {
    instanceType: machine.name,
    regionCode: region,
    location: region,
    locationType: 'AWS Region',
    servicecode: 'AmazonEC2',
    tenancy: 'Shared',
    operatingSystem: 'Linux',
    preInstalledSw: 'NA',
    capacitystatus: 'Used',
    licenseModel: 'No License required',
    marketoption: 'OnDemand',
    instanceFamily: family,
    vcpu: String(machine.vcpus),
    memory: `${machine.memoryMiB / 1024} GiB`,
    operation: 'RunInstances',
  };
}
