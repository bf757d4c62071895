import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { labels } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { pinnedValue } from '../../core/launch-options.js';
import { parseResources } from '../../core/quantities.js';
import type { LaunchRequest } from '../port.js';
import type { ClusterFacts } from './cluster-facts.js';
import { families } from './families.js';
import { imageFor } from './instance-types.js';
import { kubeletOf } from './capacity.js';
import { canonicalJson } from '../../core/hash.js';
import { kubeletSettings } from './kubelet.js';
import { hasExpressions } from './kubelet-expressions.js';
import type { MachineTypes } from './machine-types.js';
import {
  reservationKindOf,
  launchPlacementOf,
  reservationOf,
  templateKey,
  tenancyOf,
  type LaunchStage,
} from './launch-choice.js';
import type { LaunchTemplates, TemplateInput } from './launch-template.js';
import { nodeClassTags, nodePoolNameOf } from './tags.js';
import type { UserDataSizes } from './user-data-sizes.js';
import { bindsByDefault } from './user-data/bottlerocket.js';
import { renderUserData } from './user-data/user-data.js';
import { lookUp } from '../../core/own.js';
import { nameOf } from '../../core/names.js';

interface TemplateOfType {
  readonly template: string;
  readonly imageId: string;
}

interface TemplateGroup {
  readonly imageId: string;
  readonly maxPods: number;
  readonly efaCards: number;
  readonly reservation: string | undefined;
  readonly market: TemplateInput['market'];
  readonly placement: TemplateInput['placement'];
  readonly kubelet: Readonly<Record<string, unknown>>;
}

export interface TemplatePlannerOptions {
  readonly clusterName: string;
  readonly region: string;
  readonly templates: LaunchTemplates;
  readonly facts: ClusterFacts;
  readonly reservedEnis: number;
  readonly machines: () => Promise<MachineTypes>;
  /** Records the size of rendered user data. */
  readonly sizes: Pick<UserDataSizes, 'record'>;
}

/**
 * Finds the launch template for each `templateKey` of a stage: one for each image, pod limit and number of EFA cards.
 */
export class TemplatePlanner {
  constructor(private readonly options: TemplatePlannerOptions) {}

  /** Throws `NodeClassNotReady` if the user data cannot be rendered. */
  async plan(
    request: LaunchRequest & { readonly nodeClass: EC2NodeClass },
    stage: LaunchStage,
  ): Promise<Map<string, TemplateOfType>> {
    const groups = new Map<string, TemplateGroup & { readonly keys: string[] }>();
    const wantsEfa = requests(request.claim, 'vpc.amazonaws.com/efa');
    const canBe = await this.enclaveTypes(request.claim);
    const kubeletOf = await this.kubelets(request.nodeClass);
    const options = new Map(stage.options.map((option) => [templateKey(option), option]));
    for (const [templateOf, option] of options) {
      const { type } = option;
      if (!canBe(type.name)) continue;
      const reservation = reservationOf(option);
      const imageId = imageFor(request.nodeClass.status?.amis ?? [], type.requirements)?.id;
      if (imageId === undefined) continue;
      const efaCards = wantsEfa ? (type.capacity['vpc.amazonaws.com/efa'] ?? 0) : 0;
      const maxPods = type.capacity.pods ?? 110;
      const kubelet = kubeletOf(type.name);
      const key = canonicalJson([imageId, maxPods, efaCards, reservation, kubelet]);
      const group = groups.get(key) ?? {
        imageId,
        maxPods,
        efaCards,
        keys: [],
        reservation,
        market: markets[reservationKindOf(option)],
        placement: launchPlacementOf(option),
        kubelet,
      };
      group.keys.push(templateOf);
      groups.set(key, group);
    }
    const result = new Map<string, TemplateOfType>();
    await Promise.all(
      [...groups.values()].map(async (group) => {
        const template = await this.ensure(request, stage, group);
        for (const key of group.keys) result.set(key, { template, imageId: group.imageId });
      }),
    );
    return result;
  }

  /** Filter for types: all, or those that support enclaves if pods request them (labels/enclaves). */
  private async enclaveTypes(claim: LaunchRequest['claim']): Promise<(type: string) => boolean> {
    if (!wantsEnclaves(claim)) return () => true;
    const { infos } = await this.options.machines();
    const able = new Set<string>();
    for (const info of infos) if (info.NitroEnclavesSupport === 'supported') able.add(info.InstanceType ?? '');
    return (type) => able.has(type);
  }

  /** The kubelet settings by type: the same for all, unless they are expressions. */
  private async kubelets({ spec }: EC2NodeClass): Promise<(type: string) => Readonly<Record<string, unknown>>> {
    const { kubelet = {} } = spec;
    if (!hasExpressions(kubelet)) return () => kubelet;
    const { infos } = await this.options.machines();
    const byName = new Map(infos.map((info) => [info.InstanceType, info]));
    const family = resolvedAmiFamily(spec);
    return (type) => {
      const info = byName.get(type as never);
      return info === undefined ? kubelet : kubeletOf(info, { family, spec, reservedEnis: this.options.reservedEnis });
    };
  }

  private async ensure(
    { nodeClass, claim }: LaunchRequest & { readonly nodeClass: EC2NodeClass },
    stage: LaunchStage,
    group: TemplateGroup,
  ): Promise<string> {
    const { clusterName, region, templates, facts } = this.options;
    const family = resolvedAmiFamily(nodeClass.spec);
    const { clusterEndpoint, caBundle, serviceCidr } = await facts.get(family);
    const instanceProfile = nodeClass.status?.instanceProfile;
    if (instanceProfile === undefined) {
      throw new DomainError('LaunchFailed', `EC2NodeClass ${nameOf(nodeClass)} has no instance profile yet`);
    }
    const ownDns = kubeletSettings(nodeClass.spec.kubelet).clusterDNS?.[0];
    // Bootstrap scripts guess the DNS address if it is not given, wrongly if the service has a non-default address.
    const dns = ownDns ?? (family === 'Custom' ? undefined : await facts.clusterDns());
    const userData = renderUserData({
      family,
      clusterName,
      clusterEndpoint,
      caBundle,
      serviceCidr,
      kubelet: dns === undefined ? group.kubelet : { clusterDNS: [dns], ...group.kubelet },
      maxPods: group.maxPods,
      labels: nodeLabels(claim, stage, families[family].kubeletTaints),
      taints: [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])],
      custom: nodeClass.spec.userData,
      raid0: nodeClass.spec.instanceStorePolicy === 'RAID0',
      bindsByDefault: bindsByDefault(nodeClass),
    });
    this.options.sizes.record(nodeClass, userData);
    return templates.ensure({
      nodeClass,
      clusterName,
      region,
      imageId: group.imageId,
      instanceProfile,
      userData,
      spot: stage.capacityType === 'spot',
      efaCards: group.efaCards,
      reservation: group.reservation,
      market: group.market,
      placement: group.placement,
      tenancy: tenancyOf(claim),
      enclaves: wantsEnclaves(claim),
      ipv6: [serviceCidr, dns].some((address) => address?.includes(':') === true),
      tags: {
        ...nodeClassTags(nodeClass, clusterName),
        [labels.nodePool]: nodePoolNameOf(claim),
      },
    });
  }
}

/** Market type of a launch template by kind of reservation. */
const markets = {
  default: undefined,
  'capacity-block': 'capacity-block',
  interruptible: 'interruptible-capacity-reservation',
} as const;

/**
 * A request for one enables enclaves (labels/enclaves); a NodeOverlay defines how many a type has. The second name is
 * that of Karpenter 1.14.
 */
const enclaves = ['eks.amazonaws.com/nitro-sandbox', 'eks.amazonaws.com/nip-slots'];

function wantsEnclaves(claim: LaunchRequest['claim']): boolean {
  return enclaves.some((resource) => requests(claim, resource));
}

function requests(claim: LaunchRequest['claim'], resource: string): boolean {
  return (lookUp(parseResources(claim.spec.resources?.requests), resource) ?? 0) > 0;
}

/** Labels with which a node registers: those of the claim, and those of its requirements that have one value. */
function nodeLabels(claim: LaunchRequest['claim'], stage: LaunchStage, kubeletTaints: boolean): Record<string, string> {
  const settled: Record<string, string> = {};
  for (const { key } of claim.spec.requirements) {
    const value = pinnedValue(claim.spec.requirements, key);
    if (value !== undefined && key !== labels.instanceType) settled[key] = value;
  }
  return {
    ...settled,
    ...claim.metadata.labels,
    [labels.capacityType]: stage.capacityType,
    ...(kubeletTaints ? { [labels.doNotSyncTaints]: 'true' } : {}),
  };
}
