import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AwsError } from './aws-error.js';
import type { Moto } from './moto.js';
import { partitionOf } from './partition.js';
import { formatQuery, without, type Params } from './query.js';
import { element, formatXml, itemsOf, parseXml, setChild, textOf, type XmlElement } from './xml.js';

/** What prices and launches need to know of an instance type. */
export interface MachineType {
  name: string;
  vcpus: number;
  memoryMiB: number;
  architectures: string[];
  localDiskGB: number;
  gpuCount: number;
  gpuMemoryMiB: number;
  acceleratorCount: number;
}

/** The region whose offerings regions of other partitions have. */
const model = 'us-west-2';

const number = (text: string | undefined): number => Number(text ?? 0);
const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

function machineOf(item: XmlElement): MachineType {
  const gpus = itemsOf(item, 'gpuInfo', 'gpus');
  const accelerators = [
    ...itemsOf(item, 'inferenceAcceleratorInfo', 'accelerators'),
    ...itemsOf(item, 'neuronInfo', 'neuronDevices'),
  ];
  return {
    name: textOf(item, 'instanceType') ?? '',
    vcpus: number(textOf(item, 'vCpuInfo', 'defaultVCpus')),
    memoryMiB: number(textOf(item, 'memoryInfo', 'sizeInMiB')),
    architectures: itemsOf(item, 'processorInfo', 'supportedArchitectures').map((each) => each.text),
    localDiskGB: number(textOf(item, 'instanceStorageInfo', 'totalSizeInGB')),
    gpuCount: sum(gpus.map((gpu) => number(textOf(gpu, 'count')))),
    gpuMemoryMiB: number(textOf(item, 'gpuInfo', 'totalGpuMemoryInMiB')),
    acceleratorCount: sum(accelerators.map((each) => number(textOf(each, 'count')))),
  };
}

type Machines = ReadonlyMap<string, { readonly machine: MachineType; readonly item: XmlElement }>;

/** An answer of moto's with the types of these families alone. */
function ofFamilies(answer: XmlElement, families: ReadonlySet<string>): XmlElement {
  const isThere = (item: XmlElement): boolean => {
    const type = textOf(item, 'instanceType');
    return type === undefined || families.has(type.split('.')[0]!);
  };
  return { ...answer, children: answer.children.map((each) => ({ ...each, children: each.children.filter(isThere) })) };
}

/** What was made for the key; what could not be made is tried again. */
function kept<T>(known: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  made.catch(() => known.delete(key));
  return made;
}

/**
 * Instance types and their offerings. moto needs seconds for the full lists and they never change between runs of
 * one version, so their answers are kept in a folder beside moto's installation.
 */
export class Catalogue {
  readonly #answers = new Map<string, Promise<XmlElement>>();
  /** By the families that the region has. */
  readonly #machines = new Map<string, Promise<Machines>>();
  readonly #zones = new Map<string, Promise<Map<string, Set<string>>>>();

  constructor(
    private readonly moto: Moto,
    private readonly region: string,
    private readonly folder: string | undefined,
    private readonly families: () => readonly string[] | null = () => null,
  ) {}

  get #families(): string {
    return this.families()?.join() ?? '';
  }

  /** moto's answer to a question whose answer never changes, of the families that the region has. */
  answer(action: string, params: Params): Promise<XmlElement> {
    const rest = without(params, 'Version', 'Action');
    const families = this.families();
    return kept(this.#answers, `${action} ${formatQuery(rest)} ${this.#families}`, () =>
      this.#load(action, rest, families),
    );
  }

  async #load(action: string, params: Params, families: readonly string[] | null): Promise<XmlElement> {
    const question = [this.region, action, formatQuery(params), ...(families ?? [])].join(' ');
    const key = createHash('sha256').update(question).digest('hex').slice(0, 16);
    const file = this.folder === undefined ? undefined : join(this.folder, `${action}-${key}.xml`);
    if (file !== undefined) {
      try {
        return parseXml(readFileSync(file, 'utf8'));
      } catch {
        // Not asked before.
      }
    }
    const answer =
      families === null
        ? await this.#ask(action, params)
        : ofFamilies(await this.#load(action, params, null), new Set(families));
    if (file !== undefined && this.folder !== undefined) {
      mkdirSync(this.folder, { recursive: true });
      writeFileSync(`${file}.${process.pid}`, formatXml(answer));
      renameSync(`${file}.${process.pid}`, file);
    }
    return answer;
  }

  /** moto knows offerings of the usual partition alone: those of another are taken from there. */
  async #ask(action: string, params: Params): Promise<XmlElement> {
    if (action !== 'DescribeInstanceTypeOfferings' || partitionOf(this.region).name === 'aws')
      return this.moto.ec2(action, params);
    const answer = await this.moto.elsewhere(model).ec2(action, params);
    for (const item of itemsOf(answer, 'instanceTypeOfferingSet'))
      setChild(item, element('location', (textOf(item, 'location') ?? '').replace(model, this.region)));
    return answer;
  }

  #all(): Promise<Machines> {
    return kept(this.#machines, this.#families, async () => {
      const items = itemsOf(await this.answer('DescribeInstanceTypes', {}), 'instanceTypeSet');
      return new Map(items.map((item) => [textOf(item, 'instanceType') ?? '', { machine: machineOf(item), item }]));
    });
  }

  async machines(): Promise<MachineType[]> {
    return [...(await this.#all()).values()].map(({ machine }) => machine);
  }

  async machine(name: string): Promise<MachineType | undefined> {
    return (await this.#all()).get(name)?.machine;
  }

  /** The `instanceTypeSet` items of named types. Rejects with InvalidInstanceType for one that does not exist. */
  async describe(names: readonly string[]): Promise<XmlElement[]> {
    const all = await this.#all();
    const unknown = names.filter((name) => !all.has(name));
    if (unknown.length > 0) {
      throw new AwsError(
        'InvalidInstanceType',
        `The following supplied instance types do not exist: [${unknown.join(', ')}]`,
      );
    }
    return [...new Set(names)].map((name) => all.get(name)!.item);
  }

  /** The zones that offer each type. */
  zones(): Promise<Map<string, Set<string>>> {
    return kept(this.#zones, this.#families, async () => {
      const answer = await this.answer('DescribeInstanceTypeOfferings', { LocationType: 'availability-zone' });
      const zones = new Map<string, Set<string>>();
      for (const item of itemsOf(answer, 'instanceTypeOfferingSet')) {
        const name = textOf(item, 'instanceType') ?? '';
        const set = zones.get(name) ?? new Set<string>();
        set.add(textOf(item, 'location') ?? '');
        zones.set(name, set);
      }
      return zones;
    });
  }

  /** Every pool of the region: each type in each zone that offers it. */
  async pools(): Promise<{ machine: MachineType; zone: string }[]> {
    const zones = await this.zones();
    return (await this.machines()).flatMap((machine) =>
      [...(zones.get(machine.name) ?? [])].sort().map((zone) => ({ machine, zone })),
    );
  }
}
