import { addresses } from './addresses.ts'
import type { Domain, DomainName } from './domain.ts'
import { hosts } from './hosts.ts'
import { paths } from './paths.ts'

export const DOMAINS: Readonly<Record<DomainName, Domain>> = { hosts, addresses, paths }
