import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { labels } from '../../api/labels.js';
import { DomainError } from '../../core/failures.js';
import { pinnedValue } from '../../core/launch-options.js';
import { parseResources } from '../../core/resources.js';
import type { LaunchRequest } from '../port.js';
import type { ClusterFacts } from './cluster-facts.js';
import { families } from './families.js';
import { imageFor } from './instance-types.js';
import { kindOf, reservationOf, templateKey } from './launch-choice.js';
import type { LaunchStage } from './launch-choice.js';
import type { LaunchTemplates } from './launch-template.js';
import { nodeClassTags } from './tags.js';
import { renderUserData } from './user-data/user-data.js';

export interface TemplateOfType {
  readonly template: string;
  readonly imageId: string;
}

export interface TemplatePlannerOptions {
  readonly clusterName: string;
  readonly region: string;
  readonly templates: LaunchTemplates;
  readonly facts: ClusterFacts;
}

/** Finds the launch template of each `templateKey` of a stage: one for each image, pod limit and number of EFA cards (3.4). */
export class TemplatePlanner {
  constructor(private readonly options: TemplatePlannerOptions) {}

  /** Throws `NodeClassNotReady` when the user data cannot be made. */
  async plan(
    request: LaunchRequest & { readonly nodeClass: EC2NodeClass },
    stage: LaunchStage,
  ): Promise<Map<string, TemplateOfType>> {
    const groups = new Map<
      string,
      {
        imageId: string;
        maxPods: number;
        efaCards: number;
        keys: string[];
        reservation: string | undefined;
        block: boolean;
      }
    >();
    const wantsEfa = (parseResources(request.claim.spec.resources?.requests)['vpc.amazonaws.com/efa'] ?? 0) > 0;
    const options = new Map(stage.options.map((option) => [templateKey(option), option]));
    for (const [templateOf, option] of options) {
      const { type } = option;
      const reservation = reservationOf(option);
      const imageId = imageFor(request.nodeClass.status?.amis ?? [], type.requirements)?.id;
      if (imageId === undefined) continue;
      const efaCards = wantsEfa ? (type.capacity['vpc.amazonaws.com/efa'] ?? 0) : 0;
      const maxPods = type.capacity.pods ?? 110;
      const key = `${imageId}/${maxPods}/${efaCards}/${reservation ?? ''}`;
      const group = groups.get(key) ?? {
        imageId,
        maxPods,
        efaCards,
        keys: [],
        reservation,
        block: kindOf(option) === 'capacity-block',
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

  private async ensure(
    { nodeClass, claim }: LaunchRequest & { readonly nodeClass: EC2NodeClass },
    stage: LaunchStage,
    group: { imageId: string; maxPods: number; efaCards: number; reservation: string | undefined; block: boolean },
  ): Promise<string> {
    const { clusterName, region, templates, facts } = this.options;
    const family = resolvedAmiFamily(nodeClass.spec);
    const { clusterEndpoint, caBundle, serviceCidr } = await facts.get(family === 'AL2023');
    const instanceProfile = nodeClass.status?.instanceProfile;
    if (instanceProfile === undefined) {
      throw new DomainError(
        'LaunchFailed',
        `EC2NodeClass ${nodeClass.metadata.name ?? ''} has no instance profile yet`,
      );
    }
    const userData = renderUserData({
      family,
      clusterName,
      clusterEndpoint,
      caBundle,
      serviceCidr,
      kubelet: nodeClass.spec.kubelet ?? {},
      maxPods: group.maxPods,
      labels: nodeLabels(claim, stage, families[family].kubeletTaints),
      taints: [...(claim.spec.taints ?? []), ...(claim.spec.startupTaints ?? [])],
      custom: nodeClass.spec.userData,
      raid0: nodeClass.spec.instanceStorePolicy === 'RAID0',
    });
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
      capacityBlock: group.block,
      tags: {
        ...nodeClassTags(nodeClass, clusterName),
        [labels.nodePool]: claim.metadata.labels?.[labels.nodePool] ?? '',
      },
    });
  }
}

/** Labels that a node registers with: those of the claim, and where they are settled already those it requires. */
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
