/**
 * How many branch network interfaces (pods with their own security groups) a trunking instance can have. EC2's API does
 * not report it. The figures are from the limits that AWS publishes with its VPC resource controller v1.8.2
 * (2026-09-02); each line reads `family:size,size`.
 */
const branchInterfaces: Readonly<Record<number, string>> = {
  1: `
    c7g-flex:medium c8g-flex:medium m7g-flex:medium m8g-flex:medium`,
  3: `
    c7g-flex:large c7i-flex:large c8g-flex:large c8i-flex:large m7g-flex:large m7i-flex:large m8azn:medium
    m8g-flex:large m8i-flex:large r8i-flex:large`,
  4: `
    c6g:medium c6gd:medium c6gn:medium c7a:medium c7g:medium c7gd:medium c7gn:medium c8a:medium c8g:medium
    c8gb:medium c8gd:medium c8gn:medium c9g:medium c9gd:medium g5:xlarge is4gen:medium m6g:medium m6gd:medium
    m7a:medium m7g:medium m7gd:medium m8a:medium m8g:medium m8gb:medium m8gd:medium m8gn:medium m9g:medium
    m9gd:medium r6g:medium r6gd:medium r7a:medium r7g:medium r7gd:medium r8a:medium r8g:medium r8gb:medium
    r8gd:medium r8gn:medium r9g:medium r9gd:medium x8g:medium`,
  5: `
    i3en:large`,
  6: `
    g4ad:16xlarge i4i:xlarge mac-m3ultra:metal mac-m4:metal mac-m4max:metal mac-m4pro:metal mac1:metal
    mac2:metal mac2-m1ultra:metal mac2-m2:metal mac2-m2pro:metal u-3tb1:56xlarge`,
  8: `
    c7g-flex:xlarge c7i-flex:xlarge c8g-flex:xlarge c8i-flex:xlarge c8ib:large c8in:large c8ine:large
    m7g-flex:xlarge m7i-flex:xlarge m8azn:large m8g-flex:xlarge m8i-flex:xlarge m8ib:large m8idb:large
    m8idn:large m8in:large m8ine:large r8i-flex:xlarge r8ib:large r8idb:large r8idn:large r8in:large
    x8aedz:large`,
  9: `
    a1:large c5:large c5a:large c5ad:large c5d:large c5n:large c6a:large c6g:large c6gd:large c6gn:large
    c6i:large c6id:large c6in:large c7a:large c7g:large c7gd:large c7gn:large c7i:large c8a:large c8g:large
    c8gb:large c8gd:large c8gn:large c8i:large c8id:large c9g:large c9gd:large i4g:large i4i:large i7i:large
    i8g:large im4gn:large is4gen:large m5:large m5a:large m5ad:large m5d:large m5dn:large m5n:large m6a:large
    m6g:large m6gd:large m6i:large m6id:large m6idn:large m6in:large m7a:large m7g:large m7gd:large m7i:large
    m8a:large m8g:large m8gb:large m8gd:large m8gn:large m8i:large m8id:large m9g:large m9gd:large r5:large
    r5a:large r5ad:large r5b:large r5d:large r5dn:large r5n:large r6a:large r6g:large r6gd:large r6i:large
    r6id:large r6idn:large r6in:large r7a:large r7g:large r7gd:large r7i:large r7iz:large r8a:large r8g:large
    r8gb:large r8gd:large r8gn:large r8i:large r8id:large r9g:large r9gd:large x2gd:large x8g:large x8i:large`,
  10: `
    a1:medium g4ad:8xlarge g6f:large x2gd:medium`,
  11: `
    g4ad:4xlarge x2iedn:xlarge`,
  12: `
    g4ad:2xlarge,xlarge i3en:xlarge`,
  13: `
    m5zn:large z1d:large`,
  17: `
    g5:2xlarge trn1:2xlarge`,
  18: `
    a1:xlarge c5:xlarge c5a:xlarge c5ad:xlarge c5d:xlarge c5n:xlarge c6a:xlarge c6g:xlarge c6gd:xlarge
    c6gn:xlarge c6i:xlarge c6id:xlarge c6in:xlarge c7a:xlarge c7g:xlarge c7g-flex:2xlarge c7gd:xlarge
    c7gn:xlarge c7i:xlarge c7i-flex:2xlarge c8a:xlarge c8g:xlarge c8g-flex:2xlarge c8gb:xlarge c8gd:xlarge
    c8gn:xlarge c8i:xlarge c8i-flex:2xlarge c8ib:xlarge c8id:xlarge c8in:xlarge c8ine:xlarge c9g:xlarge
    c9gd:xlarge g5g:xlarge g6:xlarge g6e:xlarge g6f:xlarge i4g:xlarge i7i:xlarge i8g:xlarge im4gn:xlarge
    inf2:xlarge is4gen:xlarge m5:xlarge m5a:xlarge m5ad:xlarge m5d:xlarge m5dn:xlarge m5n:xlarge m6a:xlarge
    m6g:xlarge m6gd:xlarge m6i:xlarge m6id:xlarge m6idn:xlarge m6in:xlarge m7a:xlarge m7g:xlarge
    m7g-flex:2xlarge m7gd:xlarge m7i:xlarge m7i-flex:2xlarge m8a:xlarge m8azn:xlarge m8g:xlarge m8g-flex:2xlarge
    m8gb:xlarge m8gd:xlarge m8gn:xlarge m8i:xlarge m8i-flex:2xlarge m8ib:xlarge m8id:xlarge m8idb:xlarge
    m8idn:xlarge m8in:xlarge m8ine:xlarge m9g:xlarge m9gd:xlarge r5:xlarge r5a:xlarge r5ad:xlarge r5b:xlarge
    r5d:xlarge r5dn:xlarge r5n:xlarge r6a:xlarge r6g:xlarge r6gd:xlarge r6i:xlarge r6id:xlarge r6idn:xlarge
    r6in:xlarge r7a:xlarge r7g:xlarge r7gd:xlarge r7i:xlarge r7iz:xlarge r8a:xlarge r8g:xlarge r8gb:xlarge
    r8gd:xlarge r8gn:xlarge r8i:xlarge r8i-flex:2xlarge r8ib:xlarge r8id:xlarge r8idb:xlarge r8idn:xlarge
    r8in:xlarge r9g:xlarge r9gd:xlarge x2gd:xlarge x8aedz:xlarge x8g:xlarge x8i:xlarge`,
  19: `
    i7ie:large i8ge:large`,
  24: `
    d3en:xlarge`,
  25: `
    i8ge:3xlarge`,
  26: `
    i4i:2xlarge`,
  27: `
    i7ie:2xlarge,3xlarge,xlarge i8ge:2xlarge,xlarge x2iedn:2xlarge`,
  28: `
    i3en:2xlarge z1d:xlarge`,
  29: `
    m5zn:xlarge`,
  34: `
    c7g-flex:4xlarge c7i-flex:4xlarge c8g-flex:4xlarge c8i-flex:4xlarge g5:4xlarge m7g-flex:4xlarge
    m7i-flex:4xlarge m8azn:3xlarge m8g-flex:4xlarge m8i-flex:4xlarge r8i-flex:4xlarge x8aedz:3xlarge`,
  38: `
    a1:2xlarge c5:2xlarge c5a:2xlarge c5ad:2xlarge c5d:2xlarge c5n:2xlarge c6a:2xlarge c6g:2xlarge c6gd:2xlarge
    c6gn:2xlarge c6i:2xlarge c6id:2xlarge c6in:2xlarge c7a:2xlarge c7g:2xlarge c7gd:2xlarge c7gn:2xlarge
    c7i:2xlarge c8a:2xlarge c8g:2xlarge c8gb:2xlarge c8gd:2xlarge c8gn:2xlarge c8i:2xlarge c8ib:2xlarge
    c8id:2xlarge c8in:2xlarge c8ine:2xlarge c9g:2xlarge c9gd:2xlarge g5g:2xlarge g6:2xlarge g6e:2xlarge
    g6f:2xlarge g7:2xlarge i3en:3xlarge i4g:2xlarge i7i:2xlarge i8g:2xlarge im4gn:2xlarge inf1:2xlarge,xlarge
    is4gen:2xlarge m5:2xlarge m5a:2xlarge m5ad:2xlarge m5d:2xlarge m5dn:2xlarge m5n:2xlarge m6a:2xlarge
    m6g:2xlarge m6gd:2xlarge m6i:2xlarge m6id:2xlarge m6idn:2xlarge m6in:2xlarge m7a:2xlarge m7g:2xlarge
    m7gd:2xlarge m7i:2xlarge m8a:2xlarge m8g:2xlarge m8gb:2xlarge m8gd:2xlarge m8gn:2xlarge m8i:2xlarge
    m8ib:2xlarge m8id:2xlarge m8idb:2xlarge m8idn:2xlarge m8in:2xlarge m8ine:2xlarge m9g:2xlarge m9gd:2xlarge
    r5:2xlarge r5a:2xlarge r5ad:2xlarge r5b:2xlarge r5d:2xlarge r5dn:2xlarge r5n:2xlarge r6a:2xlarge r6g:2xlarge
    r6gd:2xlarge r6i:2xlarge r6id:2xlarge r6idn:2xlarge r6in:2xlarge r7a:2xlarge r7g:2xlarge r7gd:2xlarge
    r7i:2xlarge r7iz:2xlarge r8a:2xlarge r8g:2xlarge r8gb:2xlarge r8gd:2xlarge r8gn:2xlarge r8i:2xlarge
    r8ib:2xlarge r8id:2xlarge r8idb:2xlarge r8idn:2xlarge r8in:2xlarge r9g:2xlarge r9gd:2xlarge vt1:3xlarge
    x2gd:2xlarge x8g:2xlarge x8i:2xlarge`,
  39: `
    g4dn:2xlarge,xlarge`,
  42: `
    d3:xlarge`,
  47: `
    c8g-flex:16xlarge m8g-flex:16xlarge`,
  50: `
    c8gb:12xlarge c8gn:12xlarge c9g:12xlarge c9gd:12xlarge i8ge:12xlarge m8gb:12xlarge m8gn:12xlarge
    m9g:12xlarge m9gd:12xlarge r8gb:12xlarge r8gn:12xlarge r9g:12xlarge r9gd:12xlarge`,
  52: `
    c8gb:8xlarge c8gn:8xlarge c8i-flex:8xlarge c9g:8xlarge c9gd:8xlarge i4i:4xlarge i8ge:6xlarge m8gb:8xlarge
    m8gn:8xlarge m8i-flex:8xlarge m9g:8xlarge m9gd:8xlarge r8gb:8xlarge r8gn:8xlarge r8i-flex:8xlarge
    r9g:8xlarge r9gd:8xlarge`,
  54: `
    a1:4xlarge,metal c5:12xlarge,4xlarge,9xlarge c5a:12xlarge,4xlarge,8xlarge c5ad:12xlarge,4xlarge,8xlarge
    c5d:12xlarge,4xlarge,9xlarge c5n:4xlarge,9xlarge c6a:4xlarge c6g:12xlarge,4xlarge,8xlarge
    c6gd:12xlarge,4xlarge,8xlarge c6gn:12xlarge,4xlarge,8xlarge c6i:4xlarge c6id:4xlarge c6in:4xlarge
    c7a:4xlarge c7g:12xlarge,4xlarge,8xlarge c7g-flex:8xlarge c7gd:12xlarge,4xlarge,8xlarge
    c7gn:12xlarge,4xlarge,8xlarge c7i:4xlarge c7i-flex:8xlarge c8a:4xlarge c8g:12xlarge,4xlarge,8xlarge
    c8g-flex:12xlarge,8xlarge c8gb:4xlarge c8gd:12xlarge,4xlarge,8xlarge c8gn:4xlarge c8i:4xlarge c8ib:4xlarge
    c8id:4xlarge c8in:4xlarge c8ine:4xlarge c9g:4xlarge c9gd:4xlarge g4dn:12xlarge g5g:4xlarge,8xlarge
    g6:4xlarge g6e:4xlarge g6f:4xlarge g7:4xlarge gr6:4xlarge gr6f:4xlarge i3en:12xlarge,6xlarge
    i4g:4xlarge,8xlarge i7i:4xlarge i7ie:12xlarge,6xlarge i8g:12xlarge,4xlarge,8xlarge im4gn:4xlarge,8xlarge
    inf1:6xlarge is4gen:4xlarge,8xlarge m5:12xlarge,4xlarge,8xlarge m5a:12xlarge,4xlarge,8xlarge
    m5ad:12xlarge,4xlarge,8xlarge m5d:12xlarge,4xlarge,8xlarge m5dn:12xlarge,4xlarge,8xlarge
    m5n:12xlarge,4xlarge,8xlarge m6a:4xlarge m6g:12xlarge,4xlarge,8xlarge m6gd:12xlarge,4xlarge,8xlarge
    m6i:4xlarge m6id:4xlarge m6idn:4xlarge m6in:4xlarge m7a:4xlarge m7g:12xlarge,4xlarge,8xlarge
    m7g-flex:8xlarge m7gd:12xlarge,4xlarge,8xlarge m7i:4xlarge m7i-flex:8xlarge m8a:4xlarge m8azn:6xlarge
    m8g:12xlarge,4xlarge,8xlarge m8g-flex:12xlarge,8xlarge m8gb:4xlarge m8gd:12xlarge,4xlarge,8xlarge
    m8gn:4xlarge m8i:4xlarge m8ib:4xlarge m8id:4xlarge m8idb:4xlarge m8idn:4xlarge m8in:4xlarge m8ine:4xlarge
    m9g:4xlarge m9gd:4xlarge r5:12xlarge,4xlarge,8xlarge r5a:12xlarge,4xlarge,8xlarge
    r5ad:12xlarge,4xlarge,8xlarge r5b:12xlarge,4xlarge,8xlarge r5d:12xlarge,4xlarge,8xlarge
    r5dn:12xlarge,4xlarge,8xlarge r5n:12xlarge,4xlarge,8xlarge r6a:4xlarge r6g:12xlarge,4xlarge,8xlarge
    r6gd:12xlarge,4xlarge,8xlarge r6i:4xlarge r6id:4xlarge r6idn:4xlarge r6in:4xlarge r7a:4xlarge
    r7g:12xlarge,4xlarge,8xlarge r7gd:12xlarge,4xlarge,8xlarge r7i:4xlarge r7iz:4xlarge r8a:4xlarge
    r8g:12xlarge,4xlarge,8xlarge r8gb:4xlarge r8gd:12xlarge,4xlarge,8xlarge r8gn:4xlarge r8i:4xlarge
    r8ib:4xlarge r8id:4xlarge r8idb:4xlarge r8idn:4xlarge r8in:4xlarge r9g:4xlarge r9gd:4xlarge vt1:6xlarge
    x2gd:12xlarge,4xlarge,8xlarge x2iedn:4xlarge x8aedz:6xlarge x8g:12xlarge,4xlarge,8xlarge x8i:4xlarge
    z1d:3xlarge,6xlarge`,
  58: `
    d3en:2xlarge g4dn:8xlarge p5:4xlarge z1d:2xlarge`,
  59: `
    g4dn:4xlarge`,
  62: `
    dl1:24xlarge m5zn:2xlarge p4d:24xlarge p4de:24xlarge x2iezn:2xlarge`,
  82: `
    c8a:8xlarge c8i:8xlarge c8id:8xlarge g6e:48xlarge g7:8xlarge m8a:8xlarge m8i:8xlarge m8id:8xlarge
    r8a:8xlarge r8i:8xlarge r8id:8xlarge trn1:32xlarge x8i:8xlarge`,
  84: `
    c6a:8xlarge c6i:8xlarge c6id:8xlarge c6in:8xlarge c7a:8xlarge c7i:8xlarge c8ib:8xlarge c8in:8xlarge
    c8ine:8xlarge f2:6xlarge g5:8xlarge g6:8xlarge g6e:8xlarge gr6:8xlarge i7i:12xlarge,8xlarge inf2:8xlarge
    m6a:8xlarge m6i:8xlarge m6id:8xlarge m6idn:8xlarge m6in:8xlarge m7a:8xlarge m7i:8xlarge m8ib:8xlarge
    m8idb:8xlarge m8idn:8xlarge m8in:8xlarge m8ine:8xlarge r6a:8xlarge r6i:8xlarge r6id:8xlarge r6idn:8xlarge
    r6in:8xlarge r7a:8xlarge r7i:8xlarge r7iz:8xlarge r8ib:8xlarge r8idb:8xlarge r8idn:8xlarge r8in:8xlarge`,
  92: `
    d3:2xlarge m5zn:3xlarge`,
  98: `
    c8a:48xlarge,metal-48xl c8gb:24xlarge,48xlarge,metal-24xl,metal-48xl
    c8gn:24xlarge,48xlarge,metal-24xl,metal-48xl c8i:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl
    c8ib:48xlarge,96xlarge,metal-48xl,metal-96xl c8id:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl
    c8in:48xlarge,96xlarge,metal-48xl,metal-96xl c9g:24xlarge,48xlarge,metal-48xl
    c9gd:24xlarge,48xlarge,metal-48xl g7:24xlarge,48xlarge i8ge:48xlarge,metal-48xl m8a:48xlarge,metal-48xl
    m8gb:24xlarge,48xlarge,metal-24xl,metal-48xl m8gn:24xlarge,48xlarge,metal-24xl,metal-48xl
    m8i:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl m8ib:48xlarge,96xlarge,metal-48xl,metal-96xl
    m8id:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl m8idb:48xlarge,96xlarge,metal-48xl,metal-96xl
    m8idn:48xlarge,96xlarge,metal-48xl,metal-96xl m8in:48xlarge,96xlarge,metal-48xl,metal-96xl
    m9g:24xlarge,48xlarge,metal-48xl m9gd:24xlarge,48xlarge,metal-48xl r8a:48xlarge,metal-48xl
    r8gb:24xlarge,48xlarge,metal-24xl,metal-48xl r8gn:24xlarge,48xlarge,metal-24xl,metal-48xl
    r8i:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl r8ib:48xlarge,96xlarge,metal-48xl,metal-96xl
    r8id:32xlarge,48xlarge,96xlarge,metal-48xl,metal-96xl r8idb:48xlarge,96xlarge,metal-48xl,metal-96xl
    r8idn:48xlarge,96xlarge,metal-48xl,metal-96xl r8in:48xlarge,96xlarge,metal-48xl,metal-96xl
    r9g:24xlarge,48xlarge,metal-48xl r9gd:24xlarge,48xlarge,metal-48xl
    x8i:32xlarge,48xlarge,64xlarge,96xlarge,metal-48xl,metal-96xl`,
  102: `
    g6e:24xlarge`,
  105: `
    i4i:24xlarge`,
  106: `
    c6in:32xlarge,metal c8a:16xlarge,24xlarge,metal-24xl c8gb:16xlarge c8gn:16xlarge c8i:16xlarge,24xlarge
    c8i-flex:16xlarge c8ib:16xlarge,24xlarge,32xlarge c8id:16xlarge,24xlarge c8in:16xlarge,24xlarge,32xlarge
    c9g:16xlarge c9gd:16xlarge i8ge:18xlarge,24xlarge,metal-24xl m6idn:32xlarge,metal m6in:32xlarge,metal
    m8a:16xlarge,24xlarge,metal-24xl m8azn:12xlarge,24xlarge,metal-12xl,metal-24xl m8gb:16xlarge m8gn:16xlarge
    m8i:16xlarge,24xlarge m8i-flex:16xlarge m8ib:16xlarge,24xlarge,32xlarge m8id:16xlarge,24xlarge
    m8idb:16xlarge,24xlarge,32xlarge m8idn:16xlarge,24xlarge,32xlarge m8in:16xlarge,24xlarge,32xlarge
    m9g:16xlarge m9gd:16xlarge r6idn:32xlarge,metal r6in:32xlarge,metal r8a:16xlarge,24xlarge,metal-24xl
    r8gb:16xlarge r8gn:16xlarge r8i:16xlarge,24xlarge r8i-flex:16xlarge r8ib:16xlarge,24xlarge,32xlarge
    r8id:16xlarge,24xlarge r8idb:16xlarge,24xlarge,32xlarge r8idn:16xlarge,24xlarge,32xlarge
    r8in:16xlarge,24xlarge,32xlarge r9g:16xlarge r9gd:16xlarge u7in-16tb:224xlarge u7in-24tb:224xlarge
    u7in-32tb:224xlarge x8aedz:12xlarge,24xlarge,metal-12xl,metal-24xl x8i:16xlarge,24xlarge`,
  107: `
    c5:18xlarge,24xlarge,metal c5a:16xlarge,24xlarge c5ad:16xlarge,24xlarge c5d:18xlarge,24xlarge,metal
    c5n:18xlarge,metal c6a:16xlarge,24xlarge,32xlarge,48xlarge,metal c6g:16xlarge,metal c6gd:16xlarge,metal
    c6gn:16xlarge c6i:16xlarge,24xlarge,32xlarge,metal c6id:16xlarge,24xlarge,32xlarge,metal
    c6in:16xlarge,24xlarge c7a:16xlarge,24xlarge,32xlarge,48xlarge,metal-48xl c7g:16xlarge,metal
    c7gd:16xlarge,metal c7gn:16xlarge,metal c7i:16xlarge,24xlarge,32xlarge,48xlarge,metal-24xl,metal-48xl
    c7i-flex:16xlarge c8g:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    c8gd:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl dl2q:24xlarge f2:48xlarge g4dn:metal
    g5:12xlarge,24xlarge g5g:16xlarge,metal g6:16xlarge,24xlarge,48xlarge g6e:16xlarge i3en:24xlarge,metal
    i4g:16xlarge i7i:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    i7ie:18xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl i8g:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    im4gn:16xlarge inf2:24xlarge,48xlarge m5:16xlarge,24xlarge m5a:16xlarge,24xlarge m5ad:16xlarge,24xlarge
    m5d:16xlarge,24xlarge,metal m5dn:16xlarge,24xlarge,metal m5n:16xlarge,24xlarge,metal m5zn:12xlarge,metal
    m6a:16xlarge,24xlarge,32xlarge,48xlarge,metal m6g:16xlarge,metal m6gd:16xlarge,metal
    m6i:16xlarge,24xlarge,32xlarge,metal m6id:16xlarge,24xlarge,32xlarge,metal m6idn:16xlarge,24xlarge
    m6in:16xlarge,24xlarge m7a:16xlarge,24xlarge,32xlarge,48xlarge,metal-48xl m7g:16xlarge,metal
    m7gd:16xlarge,metal m7i:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl m7i-flex:16xlarge
    m8g:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl m8gd:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    p3dn:24xlarge r5:16xlarge,24xlarge r5a:16xlarge,24xlarge r5ad:16xlarge,24xlarge r5b:16xlarge,24xlarge,metal
    r5d:16xlarge,24xlarge,metal r5dn:16xlarge,24xlarge,metal r5n:16xlarge,24xlarge,metal
    r6a:16xlarge,24xlarge,32xlarge,48xlarge,metal r6g:16xlarge,metal r6gd:16xlarge,metal
    r6i:16xlarge,24xlarge,32xlarge,metal r6id:16xlarge,24xlarge,32xlarge,metal r6idn:16xlarge,24xlarge
    r6in:16xlarge,24xlarge r7a:16xlarge,24xlarge,32xlarge,48xlarge,metal-48xl r7g:16xlarge,metal
    r7gd:16xlarge,metal r7i:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    r7iz:16xlarge,32xlarge,metal-16xl,metal-32xl r8g:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl
    r8gd:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl u7i-12tb:224xlarge u7i-6tb:112xlarge u7i-8tb:112xlarge
    vt1:24xlarge x2gd:16xlarge,metal x2idn:16xlarge,24xlarge,32xlarge,metal
    x2iedn:16xlarge,24xlarge,32xlarge,metal x2iezn:12xlarge,metal
    x8g:16xlarge,24xlarge,48xlarge,metal-24xl,metal-48xl z1d:12xlarge,metal`,
  110: `
    c8a:12xlarge c8i:12xlarge c8i-flex:12xlarge c8ib:12xlarge c8id:12xlarge c8in:12xlarge c8ine:12xlarge
    g7:12xlarge m8a:12xlarge m8i:12xlarge m8i-flex:12xlarge m8ib:12xlarge m8id:12xlarge m8idb:12xlarge
    m8idn:12xlarge m8in:12xlarge m8ine:12xlarge r8a:12xlarge r8i:12xlarge r8i-flex:12xlarge r8ib:12xlarge
    r8id:12xlarge r8idb:12xlarge r8idn:12xlarge r8in:12xlarge x8i:12xlarge`,
  111: `
    inf1:24xlarge`,
  112: `
    g6e:12xlarge i4i:12xlarge,8xlarge`,
  114: `
    c6a:12xlarge c6i:12xlarge c6id:12xlarge c6in:12xlarge c7a:12xlarge c7i:12xlarge c7i-flex:12xlarge
    f2:12xlarge g5:16xlarge g6:12xlarge m5zn:6xlarge m6a:12xlarge m6i:12xlarge m6id:12xlarge m6idn:12xlarge
    m6in:12xlarge m7a:12xlarge m7i:12xlarge m7i-flex:12xlarge r6a:12xlarge r6i:12xlarge r6id:12xlarge
    r6idn:12xlarge r6in:12xlarge r7a:12xlarge r7i:12xlarge r7iz:12xlarge x2iedn:8xlarge
    x2iezn:4xlarge,6xlarge,8xlarge`,
  115: `
    g5:48xlarge`,
  118: `
    d3:4xlarge d3en:4xlarge,6xlarge,8xlarge g4dn:16xlarge hpc7g:16xlarge,4xlarge,8xlarge`,
  119: `
    d3:8xlarge d3en:12xlarge`,
  120: `
    g7e:12xlarge,24xlarge,2xlarge,48xlarge,4xlarge,8xlarge i3:metal i4i:16xlarge,32xlarge,metal m5:metal
    p5:48xlarge p5e:48xlarge p5en:48xlarge p6-b200:48xlarge p6-b300:48xlarge r5:metal trn1n:32xlarge`,
};

const byType = new Map<string, number>();
for (const [count, families] of Object.entries(branchInterfaces)) {
  for (const line of families.trim().split(/\s+/)) {
    const [family, sizes] = line.split(':');
    for (const size of sizes?.split(',') ?? []) byType.set(`${family ?? ''}.${size}`, Number(count));
  }
}

/** Branch interfaces of a type; 0 when it cannot trunk or is unknown. */
export function branchInterfacesOf(instanceType: string): number {
  return byType.get(instanceType) ?? 0;
}
