/** By field of a DisruptionPolicy's spec: an example of it, and what the example does. */
export const examples = {
  nodePoolSelector: {
    says: 'NodePools with the label `environment: production` whose label `team` is `shop` or `pay`:',
    yaml: `
nodePoolSelector:
  matchLabels: { environment: production }
  matchExpressions:
    - { key: team, operator: In, values: [shop, pay] }
`,
  },
  weight: { says: 'Takes precedence over every policy of the same NodePool with a lower weight:', yaml: 'weight: 50' },
  mode: {
    says: 'Decide, publish event `ConsolidationCandidate` about what would be disrupted, and leave every node alone:',
    yaml: 'mode: Recommend',
  },
  approval: {
    says: 'Questions about drift wait for two days, and without an answer drift continues. All other questions wait for a day, and without an answer nothing happens:',
    yaml: `
approval:
  - { reasons: [Drifted], timeout: 48h, onTimeout: Approve }
  - { timeout: 24h, onTimeout: Reject }
`,
  },
  maintenanceWindows: {
    says: 'Underutilized and drifted nodes are disrupted at night from Monday to Thursday, at most a fifth of the pool in a night. All other reasons apply at any time:',
    yaml: `
maintenanceWindows:
  - name: nights
    reasons: [Underutilized, Drifted]
    timeZone: Europe/Berlin
    schedule: 0 22 * * mon-thu
    duration: 7h
    quota: 20%
`,
  },
  rates: {
    says: 'At most two nodes within ten minutes, and at most a tenth of the pool within an hour for drift:',
    yaml: `
rates:
  - { nodes: '2', per: 10m }
  - { reasons: [Drifted], nodes: 10%, per: 1h }
`,
  },
  savings: {
    says: 'No pod is moved for less than 5% of what its node costs, nor for less than five cents an hour:',
    yaml: `
savings:
  minimumPercent: 5
  minimumDollarsPerHour: '0.05'
`,
  },
  nodeCost: {
    says: 'Each node costs two cents an hour for an agent, so fewer, larger nodes are preferred:',
    yaml: "nodeCost: '0.02'",
  },
  coolDown: { says: 'A node to which pods were moved stays for half an hour:', yaml: 'coolDown: 30m' },
  maxMoveChain: {
    says: 'Consolidation of the pool pauses if it has moved one workload a fourth time within a day:',
    yaml: 'maxMoveChain: 3',
  },
  spotRatio: {
    says: 'Four fifths of the vCPUs run on spot in every zone, but 16 of them always run on-demand:',
    yaml: `
spotRatio:
  spotPercent: 80
  minimumOnDemandVCPU: 16
  perZone: true
`,
  },
  expiration: {
    says: 'The replacement is launched up to a day and two hours before `expireAfter`. A node that has waited for a budget for a day after it is removed anyway:',
    yaml: `
expiration:
  mode: ReplaceFirst
  jitter: 24h
  lead: 2h
  hardDeadline: 24h
`,
  },
  driftRollout: {
    says: 'One node is replaced and watched for 20 minutes, then three, then nine, never more than a fifth of the pool. If more than a tenth fail, the template is rolled back:',
    yaml: `
driftRollout:
  canary: '1'
  soak: 20m
  growthFactor: 3
  maximumWave: 20%
  maximumFailurePercent: 10
  onFailure: Rollback
`,
  },
  drainEscalation: {
    says: 'A drain that makes no progress is reported after ten minutes; after two hours a person is asked whether to force it:',
    yaml: `
drainEscalation:
  - { after: 10m, action: Notify }
  - { after: 2h, action: AskApproval }
`,
  },
  rebalanceRecommendation: {
    says: 'A spot node that EC2 considers at risk is replaced before the notice arrives:',
    yaml: 'rebalanceRecommendation: Replace',
  },
  repair: {
    says: 'A broken node is rebooted, and replaced if that does not help within ten minutes. Nothing is repaired while more than 30% of the pool is broken:',
    yaml: `
repair:
  maximumUnhealthyPercent: 30
  steps:
    - { action: Reboot, wait: 10m }
    - { action: Replace, wait: 30m }
    - { action: Force }
`,
  },
};

/** The example as an object that kubectl applies. */
export function policyOf(field) {
  const spec = examples[field].yaml.trim().replaceAll(/^/gm, '  ');
  const name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `apiVersion: stowage.dev/v1alpha1\nkind: DisruptionPolicy\nmetadata: { name: ${name} }\nspec:\n${spec}\n`;
}
