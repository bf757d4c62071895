/** What moto drops of a launch and the proxy lays over its answers. */
export interface LaunchFacts {
  lifecycle?: 'spot' | undefined;
  securityGroups?: { id: string; name: string }[] | undefined;
  instanceProfileArn?: string | undefined;
  userData?: string | undefined;
  clientToken?: string | undefined;
  /** Tags that EC2 itself sets, such as aws:ec2:fleet-id. */
  systemTags?: Record<string, string>;
  metadataOptions?: Record<string, string>;
  monitoring?: boolean;
  /** Whether its first interface has an IPv6 address. */
  ipv6?: boolean;
  capacityReservationId?: string | undefined;
  placement?: { groupId: string; groupName: string; partition?: number | undefined } | undefined;
  nestedVirtualization?: string | undefined;
  blockDevices?: { device: string; sizeGiB: number; type: string; encrypted: boolean }[];
}
