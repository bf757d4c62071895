import { kubeletSettings } from '../kubelet.js';
import { kubeletArguments } from './al2.js';
import type { UserDataInput } from './input.js';

/** Windows: the user's PowerShell first, then a call of the image's bootstrap script. */
export function windowsUserData(input: UserDataInput): string {
  const dns = kubeletSettings(input.kubelet).clusterDNS?.[0];
  const call = [
    `& $EKSBootstrapScriptFile -EKSClusterName '${input.clusterName}' -APIServerEndpoint '${input.clusterEndpoint}'`,
    ...(input.caBundle === undefined ? [] : [`-Base64ClusterCA '${input.caBundle}'`]),
    `-KubeletExtraArgs '${kubeletArguments(input).join(' ')}'`,
    ...(dns === undefined ? [] : [`-DNSClusterIP '${dns}'`]),
  ].join(' ');
  return [
    '<powershell>',
    ...customLines(input.custom),
    '[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1"',
    call,
    '</powershell>',
  ].join('\n');
}

function customLines(custom: string | undefined): string[] {
  if (custom === undefined || custom.trim() === '') return [];
  return [
    custom
      .replace(/^\s*<powershell>/i, '')
      .replace(/<\/powershell>\s*$/i, '')
      .trim(),
  ];
}
