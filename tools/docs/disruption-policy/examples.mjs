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
  weight: { says: 'Takes precedence over policies with lower weight:', yaml: 'weight: 50' },
  mode: {
    says: 'Only event `ConsolidationCandidate` says what would be disrupted:',
    yaml: 'mode: Recommend',
  },
  approval: {
    says: 'Unanswered, drift continues after two days; anything else is rejected after a day:',
    yaml: `
approval:
  - { reasons: [Drifted], timeout: 48h, onTimeout: Approve }
  - { timeout: 24h, onTimeout: Reject }
`,
  },
  maintenanceWindows: {
    says: 'Underutilized and drifted nodes at night, at most a fifth of the pool a night; other reasons at any time:',
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
    says: 'At most two nodes within ten minutes, for drift also a tenth of the pool within an hour:',
    yaml: `
rates:
  - { nodes: '2', per: 10m }
  - { reasons: [Drifted], nodes: 10%, per: 1h }
`,
  },
  savings: {
    says: 'At least 5% and five cents an hour:',
    yaml: `
savings:
  minimumPercent: 5
  minimumDollarsPerHour: '0.05'
`,
  },
  nodeCost: {
    says: 'Two cents an hour for an agent, so fewer, larger nodes are preferred:',
    yaml: "nodeCost: '0.02'",
  },
  coolDown: { says: 'A node to which pods were moved stays for half an hour:', yaml: 'coolDown: 30m' },
  maxMoveChain: {
    says: 'It pauses at the fourth move within a day:',
    yaml: 'maxMoveChain: 3',
  },
  spotRatio: {
    says: 'Four fifths of the vCPUs of each zone on spot, but 16 always on-demand:',
    yaml: `
spotRatio:
  spotPercent: 80
  minimumOnDemandVCPU: 16
  perZone: true
`,
  },
  expiration: {
    says: 'Replacing begins up to 26 hours before `expireAfter`; a day after it the node goes anyway:',
    yaml: `
expiration:
  mode: ReplaceFirst
  jitter: 24h
  lead: 2h
  hardDeadline: 24h
`,
  },
  driftRollout: {
    says: 'One node, then three, then nine, each wave watched for 20 minutes; if more than a tenth fail, the template is rolled back:',
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
    says: 'A stuck drain is reported after ten minutes; after two hours a person is asked whether to force it:',
    yaml: `
drainEscalation:
  - { after: 10m, action: Notify }
  - { after: 2h, action: AskApproval }
`,
  },
  rebalanceRecommendation: {
    says: 'A node at risk is replaced before the notice comes:',
    yaml: 'rebalanceRecommendation: Replace',
  },
  repair: {
    says: 'Reboot, replace after ten minutes, then force; nothing while more than 30% of the pool is broken:',
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
