/** Option of `stowage plan`, for files and for a live cluster. */
export const frontierOption = ['--frontier', 'show price against number of nodes instead of one plan', false] as const;

/** How plans, consolidations and forecasts are printed. */
export const planForms = ['table', 'json', 'html', 'markdown'] as const;

/** Options of forecasts, for files and for a live cluster. */
export const withOption = [
  '--with <file...>',
  'say what applying these objects would lead to (exit status 0: nothing changes, 3: something does, 1: refused)',
] as const;
export const withoutOption = [
  '--without <object...>',
  'the same for removing KIND/NAME or KIND/NAMESPACE/NAME; goes with --with',
] as const;

/** One-line description and example of each command: for the list of commands, its help and completions. */
export const commandTexts = {
  plan: {
    description: 'show which nodes would be launched for the pending pods; launches nothing',
    example: 'stowage plan --objects cluster.json --catalogue instance-types.json --with pools.yaml -o markdown',
  },
  consolidate: {
    description:
      'show which nodes would be removed, and what would replace them, until no command saves anything; changes nothing',
    example: 'stowage consolidate --objects cluster.json --catalogue instance-types.json --spot-to-spot',
  },
  catalogue: {
    description: 'print the instance types, zones and prices of a region of AWS, for plan and consolidate on files',
    example: 'stowage catalogue --aws-region eu-west-1 > types.json',
  },
  crds: {
    description: 'print the CustomResourceDefinitions, for kubectl apply -f -',
    example: 'stowage crds --apply --kubeconfig ~/.kube/config',
  },
  convert: {
    description: 'turn older Karpenter YAML into v1, with a DisruptionPolicy where one is needed',
    example: 'stowage convert old/pools.yaml --role KarpenterNodeRole-prod',
  },
  run: {
    description: 'run the operator and the worker until SIGTERM or SIGINT',
    example: 'stowage run --role worker --cluster-name prod',
  },
  settings: {
    description: 'list every setting of the process with its flag, variable and default',
    example: 'stowage settings',
  },
  completion: {
    description: 'print a script that completes commands and options in a shell',
    example: 'stowage completion bash',
  },
  status: {
    description: 'show NodePools, NodeClaims, what is under way, and what waits for a person',
    example: 'stowage status --watch',
  },
  why: {
    description: 'say why a pod, node or NodeClaim of a live cluster is where it is',
    example: 'stowage why pod/web-0 --namespace shop',
  },
  history: {
    description: "show a node's whole life over its workflows",
    example: 'stowage history node ip-10-0-0-1.ec2.internal --output json',
  },
  doctor: {
    description: 'check an installation: say what is wrong and how to fix it; changes nothing',
    example: 'stowage doctor --output json',
  },
  report: {
    description: 'show what was done lately, what it saves, what was forced and what people ordered',
    example: 'stowage report --since 7h -o html > report.html',
  },
  pause: {
    description: 'stop voluntary disruption of a cluster, NodePool, node or reason',
    example: "stowage pause --nodepool default --because 'release week' --for 2h",
  },
  resume: {
    description: 'end the pause of a scope',
    example: 'stowage resume --nodepool default',
  },
  approve: {
    description: 'approve a disruption that waits for approval',
    example: 'stowage approve node-1 --because release',
  },
  reject: {
    description: 'answer no to a disruption that waits for approval',
    example: "stowage reject node-1 --because 'not this week'",
  },
  abort: {
    description: 'end a disruption that can still be taken back; it leaves no taint',
    example: 'stowage abort node-1 --because incident',
  },
  expedite: {
    description: 'do not wait any longer; --force ends the protection of the pods of a drain',
    example: 'stowage expedite node-1 --force --within 5m --because incident',
  },
  retry: {
    description: 'try again at once what failed or waits',
    example: 'stowage retry node-1',
  },
  hold: {
    description: 'stop before the next irreversible step; --off lets it continue',
    example: 'stowage hold node-1 --off',
  },
  rollback: {
    description: 'end the rollout of a NodePool, and restore its last good template',
    example: 'stowage rollback default --because errors',
  },
  reconsider: {
    description: 'allow rejected disruptions to be proposed again',
    example: 'stowage reconsider --node node-1',
  },
  uninstall: {
    description: 'end what Stowage has under way in a cluster and remove its marks; nodes stay',
    example: 'stowage uninstall --stop stowage/stowage-operator,stowage/stowage-worker',
  },
  mcp: {
    description:
      'serve status, why, plan, history and report to agents by the Model Context Protocol, over standard input',
    example: 'stowage mcp --cluster-name prod',
  },
  'codec-server': {
    description: 'decrypt payloads for the Temporal UI and its CLI, on this machine, until SIGTERM or SIGINT',
    example: 'stowage codec-server --temporal-payload-keys-file keys.yaml --origin https://temporal.example.com',
  },
} as const satisfies Readonly<Record<string, { readonly description: string; readonly example: string }>>;

export type CommandName = keyof typeof commandTexts;

/** The example at the end of a help text. */
export const exampleText = (name: CommandName): string => `\nExample:\n  ${commandTexts[name].example}`;
